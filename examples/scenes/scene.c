#include "scene.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table */

static const scene_kind *const scene_tables[] = {scene_rigid_kinds, scene_soft_kinds, scene_solid_kinds,
                                                 scene_mixed_kinds, scene_cable_kinds,
                                                 scene_robot_kinds, scene_contact_kinds, scene_paper_kinds,
                                                 scene_shot_kinds, scene_sleeper_kinds, scene_level_kinds,
                                                 scene_play_kinds,  scene_realtime_kinds, scene_rollback_kinds};
enum { SCENE_TABLES = sizeof scene_tables / sizeof scene_tables[0] };

const scene_kind *scene_kind_at(int index) {
    int t;
    for (t = 0; t < SCENE_TABLES; t++) {
        const scene_kind *k = scene_tables[t];
        for (; k->name; k++)
            if (index-- == 0) return k;
    }
    return NULL;
}

int scene_count(void) {
    int n = 0;
    while (scene_kind_at(n)) n++;
    return n;
}

static const scene_key scene_keys_of_all[] = {
    {"kv", "0", "stiffness of virtual nodes [N s/m], kappa = h kv, and COND also for rigid islands; 0: from gain",
     NULL},
    {"gain", "0", "virtual nodes: kappa = gain * effective mass; 0: the library's", NULL},
    {"shift", "1", "0: no proximal shift of virtual nodes", "0|1"},
    {"stabilization", "-1", "share of a penetration removed in a step; -1: the library's", NULL},
    {"slop", "0", "penetration left alone, m", NULL},
    {"paths", "0", "1: true paths stop within a millimetre, follow_paths", "0|1"},
    {"threshold", "-1", "approach speed below which restitution is 0, m/s; -1: the scene's", NULL},
    {"margin", "-1", "contact_distance, m; -1: the library's", NULL},
    {"iterations", "0", "iteration cap; 0: the library's", NULL},
    {"substeps", "0", "of xpbd; 0: the library's", NULL},
    {"law", "strict", "law of the contacts", "strict|proximal|invertible"},
    {"weight", "auto", "W of COND", "auto|jacobi|frobenius|bb1|bb2|bb"},
    {"acceleration", "auto", "acceleration of COND", "auto|none|chebyshev|anderson|coarse"},
    {NULL, NULL, NULL, NULL}};

const scene_key *scene_common_keys(void) { return scene_keys_of_all; }

/* ---- failures */

void scene_fail(scene *s, const char *format, ...) {
    va_list list;
    if (s->failed) return;
    s->failed = true;
    va_start(list, format);
    vsnprintf(s->error, sizeof s->error, format, list);
    va_end(list);
}

bool scene_ok(scene *s, csim_status status) {
    if (status != CSIM_OK) scene_fail(s, "%s", s->world ? csim_last_error(s->world) : csim_status_text(status));
    return !s->failed;
}

/* ---- settings */

scene_options scene_default_options(void) {
    scene_options o;
    memset(&o, 0, sizeof o);
    o.integrator = -1;
    return o;
}

bool scene_set(scene_options *o, const char *key_value) {
    const char *equals = strchr(key_value, '=');
    scene_setting *set = o->set + o->set_count;
    if (!equals || equals == key_value || o->set_count == SCENE_SETTINGS) return false;
    if ((size_t)(equals - key_value) >= sizeof set->key || strlen(equals + 1) >= sizeof set->value) return false;
    memset(set, 0, sizeof *set);
    memcpy(set->key, key_value, (size_t)(equals - key_value));
    strcpy(set->value, equals + 1);
    o->set_count++;
    return true;
}

static const scene_key *scene_find_key(const scene_kind *kind, const char *name) {
    const scene_key *k;
    for (k = kind->keys; k && k->name; k++)
        if (strcmp(k->name, name) == 0) return k;
    for (k = scene_keys_of_all; k->name; k++)
        if (strcmp(k->name, name) == 0) return k;
    return NULL;
}

static const char *scene_setting_of(const scene *s, const char *name) {
    int i;
    for (i = s->options.set_count - 1; i >= 0; i--) /* the last one counts */
        if (strcmp(s->options.set[i].key, name) == 0) return s->options.set[i].value;
    return NULL;
}

bool scene_is_set(const scene *s, const char *name) { return scene_setting_of(s, name) != NULL; }

const char *scene_text_of(const scene *s, const char *name) {
    const char *value = scene_setting_of(s, name);
    const scene_key *key = scene_find_key(s->kind, name);
    return value ? value : key ? key->value : "";
}

double scene_number(const scene *s, const char *name) { return atof(scene_text_of(s, name)); }

/* Whether value is one of "a|b|c". */
static bool scene_chosen(const char *choices, const char *value) {
    size_t length = strlen(value);
    while (choices) {
        if (strncmp(choices, value, length) == 0 && (choices[length] == 0 || choices[length] == '|')) return length > 0;
        choices = strchr(choices, '|');
        if (choices) choices++;
    }
    return false;
}

static void scene_list_keys(const scene_kind *kind, char *text, size_t size) {
    const scene_key *k;
    size_t used = 0;
    text[0] = 0;
    for (k = kind->keys; k && k->name && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s, ", k->name);
    for (k = scene_keys_of_all; k->name && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k->name, k[1].name ? ", " : "");
}

static void scene_check_settings(scene *s) {
    int i;
    for (i = 0; i < s->options.set_count && !s->failed; i++) {
        const scene_setting *set = s->options.set + i;
        const scene_key *key = scene_find_key(s->kind, set->key);
        char *end = NULL, keys[SCENE_TEXT - 60];
        if (!key) {
            scene_list_keys(s->kind, keys, sizeof keys);
            scene_fail(s, "%s has no key '%s'; allowed: %s", s->kind->name, set->key, keys);
        } else if (!key->choices) {
            double x = strtod(set->value, &end);
            if (end == set->value || *end || !(fabs(x) < 1e300))
                scene_fail(s, "%s of %s is '%s'; it must be a number: %s", set->key, s->kind->name, set->value,
                           key->text);
        } else if (strcmp(key->choices, "*") != 0 && !scene_chosen(key->choices, set->value)) {
            scene_fail(s, "%s of %s is '%s'; allowed: %s", set->key, s->kind->name, set->value, key->choices);
        }
    }
}

/* The place of a text in "a|b|c". */
static int scene_choice(const scene *s, const char *name) {
    const char *choices = scene_find_key(s->kind, name)->choices, *value = scene_text_of(s, name);
    int n = 0;
    while (!(strncmp(choices, value, strlen(value)) == 0 &&
             (choices[strlen(value)] == 0 || choices[strlen(value)] == '|'))) {
        choices = strchr(choices, '|') + 1;
        n++;
    }
    return n;
}

/* ---- opening */

static void scene_world_def(scene *s) {
    static const csim_law law[] = {CSIM_LAW_STRICT, CSIM_LAW_PROXIMAL, CSIM_LAW_INVERTIBLE};
    csim_solver_params *p = &s->def.solver;
    double kv = scene_number(s, "kv");
    s->def = s->options.mode == 1 ? csim_balanced_world_def() : csim_default_world_def();
    if (s->options.budget > 0) s->def.budget = s->options.budget;
    s->def.integrator = s->options.integrator >= 0 ? (csim_integrator)s->options.integrator : s->kind->integrator;
    s->def.clock = s->options.clock;
    s->def.tasks = s->options.tasks;
    s->def.law = law[scene_choice(s, "law")];
    s->def.slop = (csim_real)scene_number(s, "slop");
    s->def.follow_paths = scene_number(s, "paths") > 0;
    if (scene_number(s, "stabilization") >= 0) s->def.stabilization = (csim_real)scene_number(s, "stabilization");
    if (scene_number(s, "threshold") >= 0) s->def.restitution_threshold = (csim_real)scene_number(s, "threshold");
    if (scene_number(s, "margin") >= 0) s->def.contact_distance = (csim_real)scene_number(s, "margin");
    p->solver = s->options.mode == 2 ? CSIM_SOLVER_BOUNDED : s->options.solver;
    if (kv > 0) {
        p->spring.kappa = (csim_real)(s->h * kv);
        if (p->solver == CSIM_SOLVER_AUTO) p->solver = CSIM_SOLVER_COND;
    }
    if (scene_number(s, "gain") > 0) p->spring.gain = (csim_real)scene_number(s, "gain");
    if (scene_number(s, "iterations") > 0) p->max_iterations = (int)scene_number(s, "iterations");
    if (scene_number(s, "substeps") > 0) p->substeps = (int)scene_number(s, "substeps");
    if (s->options.tolerance > 0 || s->kind->tolerance > 0)
        p->tolerance = (csim_real)(s->options.tolerance > 0 ? s->options.tolerance : s->kind->tolerance);
    p->cond.shift = scene_choice(s, "shift") == 1;
    p->cond.weight = (csim_weight)scene_choice(s, "weight");
    p->cond.acceleration = (csim_acceleration)scene_choice(s, "acceleration");
}

static const scene_kind *scene_find(const char *name, char *why, size_t why_size) {
    size_t used;
    int i;
    for (i = 0; i < scene_count(); i++)
        if (strcmp(scene_kind_at(i)->name, name) == 0) return scene_kind_at(i);
    used = (size_t)snprintf(why, why_size, "no scene '%s'; there are:", name);
    for (i = 0; i < scene_count() && used < why_size; i++)
        used += (size_t)snprintf(why + used, why_size - used, " %s", scene_kind_at(i)->name);
    return NULL;
}

static void scene_prepare(scene *s) {
    const scene_options *o = &s->options;
    double seconds = o->seconds > 0 ? o->seconds : s->kind->seconds;
    s->h = o->h > 0 ? o->h : s->kind->h;
    s->steps = o->steps > 0 ? o->steps : (int)(seconds / s->h + 0.5);
    s->size = o->size > 0 ? o->size : s->kind->size;
    s->scale = 0.2;
    s->rest_speed = 1e-4;
    s->rest_time = -1;
    if (o->size > 0 && s->kind->size == 0) scene_fail(s, "%s has no size to choose", s->kind->name);
    s->state = calloc(1, s->kind->state_bytes + 1);
    if (!s->state) scene_fail(s, "out of memory");
    scene_check_settings(s);
}

/* Who must not miss a frame makes the room before the first. */
static void scene_reserve(scene *s) {
    csim_capacity c = csim_world_capacity(s->world);
    c.contacts += c.contacts / 2;
    c.pairs += c.pairs / 2;
    scene_ok(s, csim_world_reserve(s->world, &c));
}

scene *scene_open(const char *name, const scene_options *options, char *why, size_t why_size) {
    const scene_kind *kind = scene_find(name, why, why_size);
    scene *s = kind ? (scene *)calloc(1, sizeof *s) : NULL;
    if (!kind) return NULL;
    if (!s) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    s->kind = kind;
    s->options = *options;
    scene_prepare(s);
    if (!s->failed) scene_world_def(s);
    if (!s->failed) kind->build(s);
    if (!s->failed && (s->options.budget > 0 || s->options.mode == 2)) scene_reserve(s);
    if (!s->failed) return s;
    snprintf(why, why_size, "%s", s->error);
    scene_close(s);
    return NULL;
}

void scene_begin(scene *s) {
    csim_error error;
    if (!s->failed && csim_create_world(&s->def, &s->world, &error) != CSIM_OK) scene_fail(s, "%s", error.text);
}

void scene_close(scene *s) {
    int i;
    if (!s) return;
    csim_destroy_world(s->world);
    for (i = 0; i < s->body_count; i++)
        if (s->body[i].has_sat) sat_free(&s->body[i].sat);
    while (s->memory) {
        void *next = *(void **)s->memory;
        free(s->memory);
        s->memory = next;
    }
    scene_mesh_free(&s->mesh);
    free(s->body);
    free(s->state);
    free(s);
}

void *scene_memory(scene *s, size_t bytes) {
    size_t head = 2 * sizeof(double); /* keeps what follows aligned */
    char *block = (char *)calloc(1, head + bytes);
    if (!block) {
        scene_fail(s, "out of memory");
        return NULL;
    }
    *(void **)block = s->memory;
    s->memory = block;
    return block + head;
}

void *scene_block(scene *s, size_t bytes) {
    unsigned char *p = (unsigned char *)scene_memory(s, bytes + 64);
    return p ? p + (64 - (uintptr_t)p % 64) % 64 : NULL;
}

csim_shape scene_heights(scene *s, int across, double cell, double (*height)(void *user, double x, double y),
                         void *user) {
    csim_height_field_def d = csim_default_height_field_def();
    const int row = across + 1;
    const double half = cell * (across / 2);
    csim_real *z = (csim_real *)scene_memory(s, sizeof *z * (size_t)row * (size_t)row);
    csim_shape shape = csim_sphere(1);
    const csim_field *f = NULL;
    csim_error error;
    size_t bytes = 0;
    void *block;
    int i;
    for (i = 0; z && height && i < row * row; i++)
        z[i] = (csim_real)height(user, cell * (i % row) - half, cell * (i / row) - half);
    d.heights = z;
    d.count_x = d.count_y = row;
    d.cell = (csim_real)cell;
    error.text[0] = 0;
    if (z && csim_height_field_bytes(&d, &bytes, &error) == CSIM_OK && (block = scene_block(s, bytes)) != NULL)
        csim_create_height_field_in(&d, block, bytes, &f, &error);
    if (!f) {
        scene_fail(s, "%s", error.text);
        return shape;
    }
    shape = csim_field_shape(f);
    shape.local.position = scene_v3(-half, -half, 0);
    return shape;
}

/* ---- bodies */

csim_vec3 scene_v3(double x, double y, double z) { return csim_v3((csim_real)x, (csim_real)y, (csim_real)z); }

csim_quat scene_turn(double x, double y, double z, double angle) {
    return csim_quat_axis_angle(scene_v3(x, y, z), (csim_real)angle);
}

csim_rigid_def scene_rigid_def(double mass, double friction, double x, double y, double z) {
    csim_rigid_def d = csim_default_rigid_def();
    d.mass = (csim_real)mass;
    d.pose.position = scene_v3(x, y, z);
    d.surface.friction = (csim_real)friction;
    return d;
}

static void scene_read_pose(const scene *s, csim_body_id id, sat_pose *out) {
    csim_pose p = csim_pose_identity();
    csim_body_get_pose(s->world, id, &p);
    out->position[0] = (double)p.position.x;
    out->position[1] = (double)p.position.y;
    out->position[2] = (double)p.position.z;
    out->rotation[0] = (double)p.rotation.w;
    out->rotation[1] = (double)p.rotation.x;
    out->rotation[2] = (double)p.rotation.y;
    out->rotation[3] = (double)p.rotation.z;
}

static scene_body *scene_new_body(scene *s, csim_body_id id) {
    scene_body *b;
    if (s->body_count == s->body_capacity) {
        int capacity = 2 * s->body_capacity + 16;
        b = (scene_body *)realloc(s->body, sizeof *b * (size_t)capacity);
        if (!b) {
            scene_fail(s, "out of memory");
            return NULL;
        }
        s->body = b;
        s->body_capacity = capacity;
    }
    b = s->body + s->body_count++;
    memset(b, 0, sizeof *b);
    b->id = id;
    b->dynamic = true;
    scene_read_pose(s, id, &b->start);
    b->now = b->start;
    return b;
}

void scene_watch(scene *s, csim_body_id id) {
    if (!s->failed) scene_new_body(s, id);
}

/* The shape again, for the independent depth. Capsules and cylinders have none. */
static void scene_shape_for_sat(scene *s, scene_body *b, const csim_shape *shape) {
    double points[CSIM_HULL_MAX_VERTICES][3];
    int i, count = 0;
    if (shape->kind == CSIM_SHAPE_SPHERE) {
        sat_sphere(&b->sat, (double)shape->radius);
        b->has_sat = true;
    } else if (shape->kind == CSIM_SHAPE_BOX) {
        for (; count < 8; count++) {
            points[count][0] = (count & 1 ? 1 : -1) * (double)shape->half.x;
            points[count][1] = (count & 2 ? 1 : -1) * (double)shape->half.y;
            points[count][2] = (count & 4 ? 1 : -1) * (double)shape->half.z;
        }
    } else if (shape->kind == CSIM_SHAPE_HULL) {
        for (i = 0; i < shape->point_count && i < CSIM_HULL_MAX_VERTICES; i++, count++) {
            points[i][0] = (double)shape->points[i].x;
            points[i][1] = (double)shape->points[i].y;
            points[i][2] = (double)shape->points[i].z;
        }
    }
    if (count == 0) return;
    b->has_sat = sat_from_points(&b->sat, points, count) != 0;
    if (!b->has_sat) scene_fail(s, "out of memory");
}

csim_body_id scene_add_rigid(scene *s, csim_rigid_def *def, csim_shape shape) {
    csim_body_id id;
    scene_body *b;
    memset(&id, 0, sizeof id);
    if (s->failed) return id;
    def->shapes = &shape;
    def->shape_count = 1;
    if (!scene_ok(s, csim_create_rigid(s->world, def, &id))) return id;
    b = scene_new_body(s, id);
    if (!b) return id;
    b->dynamic = def->motion == CSIM_DYNAMIC;
    if (s->kind->measures & SCENE_SAT) scene_shape_for_sat(s, b, &shape);
    return id;
}

csim_body_id scene_add_box(scene *s, csim_rigid_def *def, double half_x, double half_y, double half_z) {
    return scene_add_rigid(s, def, csim_box(scene_v3(half_x, half_y, half_z)));
}

void scene_add_ground(scene *s, double friction) {
    csim_body_id id;
    s->floor = true;
    if (!s->failed)
        scene_ok(s, csim_create_ground(s->world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), (csim_real)friction, &id));
}

csim_body_id scene_add_static(scene *s, csim_shape shape, double friction, double x, double y, double z, double tilt) {
    csim_rigid_def d = scene_rigid_def(0, friction, x, y, z);
    csim_body_id id;
    memset(&id, 0, sizeof id);
    d.motion = CSIM_STATIC;
    d.pose.rotation = scene_turn(0, 1, 0, tilt);
    d.shapes = &shape;
    d.shape_count = 1;
    if (!s->failed) scene_ok(s, csim_create_rigid(s->world, &d, &id));
    return id;
}

double scene_draw(unsigned long long *x, double low, double high) {
    *x = *x * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * ((double)(*x >> 11) / 9007199254740992.0);
}

/* ---- stepping */

double scene_time(const scene *s) { return s->step * s->h; }

/* What the failed step said it needs, and half as much again. */
static bool scene_make_room(scene *s) {
    csim_step_stats stats = csim_world_stats(s->world);
    csim_capacity c = csim_world_capacity(s->world);
    csim_capacity had = c;
    if (stats.contacts > c.contacts) c.contacts = stats.contacts + stats.contacts / 2;
    if (stats.pairs > c.pairs) c.pairs = stats.pairs + stats.pairs / 2;
    if (c.contacts == had.contacts && c.pairs == had.pairs) return false;
    return csim_world_reserve(s->world, &c) == CSIM_OK;
}

static double scene_depth(const scene *s) {
    double worst = 0;
    int i, j;
    for (i = 0; i < s->body_count; i++) {
        const scene_body *a = s->body + i;
        if (!a->has_sat) continue;
        if (s->floor && a->dynamic) worst = fmax(worst, sat_floor_depth(&a->sat, &a->now));
        for (j = i + 1; j < s->body_count; j++) {
            const scene_body *b = s->body + j;
            if (b->has_sat && (a->dynamic || b->dynamic))
                worst = fmax(worst, sat_depth(&a->sat, &a->now, &b->sat, &b->now));
        }
    }
    return worst;
}

/* What stabilisation may have put into the step: impulses that opened overlaps, times the speed they were asked for. */
static double scene_put_in(const scene *s) {
    const csim_world_def *d = &s->def;
    const csim_contact_info *info;
    double sum = 0;
    int count, i;
    info = csim_world_contacts(s->world, &count);
    for (i = 0; i < count; i++) {
        const double deep = -(double)info[i].gap - (double)d->slop;
        const double speed = fmin((double)d->stabilization * deep / s->h, (double)d->push_out_speed);
        if (deep > 0) sum += (double)info[i].normal_impulse * speed;
    }
    return sum;
}

/* Energies above the floor z = 0; how much the step gained, as a share of what there was before it. */
static void scene_measure_energy(scene *s) {
    const csim_totals t = csim_world_totals(s->world);
    const double now = t.kinetic + t.gravity + t.elastic, before = s->energy;
    if (s->step > 1) s->gained = fmax(s->gained, (now - before - scene_put_in(s)) / fmax(fabs(before), 1e-9));
    s->energy = now;
}

static void scene_measure(scene *s) {
    unsigned what = s->kind->measures;
    csim_step_stats stats = csim_world_stats(s->world);
    int i;
    if (stats.contacts > 0 && s->solves++ > 0) s->products += stats.products;
    for (i = 0; i < s->body_count && (what & (SCENE_STANDS | SCENE_SAT)); i++) {
        scene_body *b = s->body + i;
        double d[3], moved;
        int k;
        scene_read_pose(s, b->id, &b->now);
        if (!b->dynamic) continue;
        for (k = 0; k < 3; k++) d[k] = b->now.position[k] - b->start.position[k];
        moved = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        s->drift = fmax(s->drift, moved);
        s->fell = fmax(s->fell, -d[2]);
        if (!(moved < 1e6)) s->fell = s->drift = INFINITY;
    }
    if ((what & SCENE_SAT) && (s->body_count < 100 || s->step % 20 == 0 || s->step == s->steps)) {
        s->sat_end = scene_depth(s);
        s->sat = fmax(s->sat, s->sat_end);
        s->hidden = fmax(s->hidden, s->sat_end - stats.penetration);
    }
    scene_measure_energy(s);
    if (what & SCENE_RESTS) {
        if (csim_world_rms_speed(s->world) >= s->rest_speed)
            s->rest_time = -1;
        else if (s->rest_time < 0)
            s->rest_time = scene_time(s);
    }
}

bool scene_step(scene *s) {
    csim_status status;
    double start = s->options.clock ? s->options.clock(NULL) : 0;
    if (s->failed) return false;
    if (s->kind->before) s->kind->before(s);
    if (s->failed) return false;
    status = csim_world_step(s->world, (csim_real)s->h);
    while (status == CSIM_CAPACITY && scene_make_room(s)) status = csim_world_step(s->world, (csim_real)s->h);
    if (!scene_ok(s, status)) return false;
    if (s->options.clock) s->seconds += s->options.clock(NULL) - start;
    s->step++;
    scene_measure(s);
    if (s->kind->after) s->kind->after(s);
    return !s->failed;
}

/* ---- figures */

void scene_report(scene *s, const char *name, double value) {
    if (s->figure_count == SCENE_FIGURES) return;
    s->figure[s->figure_count].name = name;
    s->figure[s->figure_count++].value = value;
}

/* Bodies whose centre is below the floor. */
static int scene_below(const scene *s) {
    int i, below = 0;
    for (i = 0; i < s->body_count; i++) below += s->body[i].dynamic && !(s->body[i].now.position[2] >= 0);
    return below;
}

void scene_finish(scene *s) {
    unsigned what = s->kind->measures;
    s->figure_count = 0;
    if (what & SCENE_STANDS) {
        scene_report(s, "stands", s->fell <= s->scale / 4 ? 1 : 0);
        scene_report(s, "drift_mm", 1e3 * s->drift);
    }
    if (what & SCENE_SAT) {
        scene_report(s, "sat_mm", 1e3 * s->sat);
        scene_report(s, "sat_end_mm", 1e3 * s->sat_end);
        scene_report(s, "hidden_penetration_mm", 1e3 * s->hidden);
    }
    scene_report(s, "energy_gain_max", s->gained);
    if (s->floor && (what & (SCENE_STANDS | SCENE_SAT))) scene_report(s, "passed_through", scene_below(s));
    if (what & SCENE_RESTS) /* at least one second of rest must follow */
        scene_report(s, "rest_time_s",
                     s->rest_time >= 0 && s->rest_time + 1 <= scene_time(s) + 1e-9 ? s->rest_time : -1);
    if ((what & SCENE_PACE) && s->solves > 1) scene_report(s, "products_mean", s->products / (s->solves - 1));
    if ((what & SCENE_PACE) && s->seconds > 0) scene_report(s, "realtime_factor", scene_time(s) / s->seconds);
    if (s->kind->finish) s->kind->finish(s);
}

double scene_figure_of(const scene *s, const char *name) {
    int i;
    for (i = 0; i < s->figure_count; i++)
        if (strcmp(s->figure[i].name, name) == 0) return s->figure[i].value;
    return NAN;
}
