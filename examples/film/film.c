/* condsim-film: the pictures of the documentation, drawn without a screen.

       condsim-film film FILE                                the film of README.md
       condsim-film gallery FOLDER PAGE ["SCENE ..."]  a picture of every scene, and the page that shows them
       condsim-film still SCENE SECONDS FILE [key=value ...] [size=N] [turn=] [tilt=] [zoom=]

   It runs from the root of the project: a scene reads its mesh from examples/scenes. */
#include "paint.h"
#include "picture.h"
#include "png.h"
#include "scene.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILM_SECOND = 20, FILM_WIDTH = 720, FILM_HEIGHT = 405, FILM_HOLD = 9 };
enum { GALLERY_WIDTH = 400, GALLERY_HEIGHT = 260 };

typedef struct film_shot {
    const char *scene, *settings; /* key=value key=value */
    int size;                     /* 0: the scene's */
    double from, to, pace;        /* simulated s; simulated s in a second of the film */
    double turn, tilt, zoom;      /* of the view: rad, rad, 1 */
} film_shot;

static const film_shot film_shots[] = {
    {"reduced", "", 4, 0.04, 1.24, 0.4, -0.9, 0.35, 0.95},
    {"everything", "", 0, 0.0, 0.8, 0.25, -0.9, 0.42, 0.8},
    {"net", "", 4, 0.0, 1.2, 0.5, -0.9, 0.30, 0.9},
    {"grasp", "", 0, 0.6, 2.2, 0.8, -0.5, 0.30, 0.85},
};

/* Where the middle of a scene's run, seen from the side, is not its best moment, or takes long. */
static const film_shot gallery_shots[] = {
    {"tower", "", 0, 0, 0.4, 0, -0.9, 0.30, 0.88},        {"pile", "", 300, 0, 1.2, 0, -0.9, 0.45, 0.88},
    {"cloth", "", 32, 0, 2, 0, -0.9, 0.35, 0.88},         {"drop-mesh", "", 0, 0, 0.3, 0, -0.9, 0.35, 0.9},
    {"reduced", "", 4, 0, 0.6, 0, -0.9, 0.35, 1.0},       {"everything", "", 0, 0, 0.3, 0, -0.9, 0.42, 1.15},
    {"cable-winding", "", 0, 0, 12, 0, -0.6, 0.25, 0.88}, {"capstan", "", 0, 0, 2, 0, -0.9, 0.9, 0.88},
    {"jamming", "", 0, 0, 0.3, 0, -0.9, 0.30, 0.88},      {"net", "", 4, 0, 1, 0, -0.9, 0.30, 0.88},
    {"beam", "", 0, 0, 1.75, 0, -0.3, 0.30, 0.75},        {"shots", "", 20, 0, 0.1, 0, -0.9, 0.45, 0.9},
    {"catenary", "", 0, 0, 5, 0, -1.4, 0.12, 0.85},       {"car", "", 0, 0, 2, 0, -0.9, 0.38, 0.4},
    {"ragdoll", "", 0, 0, 1.2, 0, -0.9, 0.38, 0.88},
    {"character", "", 0, 0, 3, 0, -0.9, 0.38, 0.88},
    {"floor-of-triangles", "", 0, 0, 1, 0, -0.9, 0.38, 0.88},
    {"woven", "", 0, 0, 0.5, 0, -1.2, 0.15, 0.95},        {"incline", "", 0, 0, 5, 0, -1.3, 0.15, 0.5},
    {"sliding-box", "", 0, 0, 1, 0, -0.5, 0.35, 0.95},    {"anisotropic", "", 0, 0, 0.4, 0, -1.2, 1.1, 0.9},
};

/* ---- a scene, step by step */

typedef struct film_stage {
    scene *now;
    picture *drawn;
    char why[SCENE_TEXT];
} film_stage;

static bool film_close(film_stage *s, bool ok) {
    char rest[SCENE_TEXT];
    if (s->drawn) picture_close(s->drawn, s->now, rest, sizeof rest);
    if (s->now) scene_close(s->now);
    if (!ok) fprintf(stderr, "condsim-film: %s\n", s->why);
    return ok;
}

static bool film_open(film_stage *s, const film_shot *shot) {
    scene_options o = scene_default_options();
    const char *text = shot->settings;
    char one[64];
    memset(s, 0, sizeof *s);
    o.size = shot->size;
    while (*text) {
        const size_t n = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)n, text);
        if (n > 0 && !scene_set(&o, one)) return snprintf(s->why, sizeof s->why, "no setting %s", one), false;
        text += n + (text[n] == ' ');
    }
    s->now = scene_open(shot->scene, &o, s->why, sizeof s->why);
    return s->now && (s->drawn = picture_open(s->now, "", s->why, sizeof s->why)) != NULL;
}

static bool film_run_to(film_stage *s, double time) {
    while (scene_time(s->now) < time - s->now->h / 2) {
        csim_step_stats t;
        if (!scene_step(s->now)) return snprintf(s->why, sizeof s->why, "%s", s->now->error), false;
        t = csim_world_stats(s->now->world);
        picture_step(s->drawn, s->now, &t);
    }
    return true;
}

static paint_camera film_camera(const film_shot *shot, const double low[3], const double high[3], double aspect) {
    paint_camera c;
    c.angle = 0.5, c.turn = shot->turn, c.tilt = shot->tilt;
    paint_fit(&c, low, high, aspect, shot->zoom);
    return c;
}

/* ---- one picture */

static bool film_write(const char *path, const unsigned char *rgb, int width, int height) {
    png_colours c;
    png_film *f = NULL;
    unsigned char *index = (unsigned char *)malloc((size_t)width * (size_t)height);
    bool ok = png_colours_open(&c) && index;
    if (ok) {
        png_colours_take(&c, rgb, width * height);
        png_colours_choose(&c);
        png_index(&c, rgb, width * height, NULL, 0, index);
        f = png_open(path, width, height, 1, 1, &c);
        ok = f && png_frame(f, index);
        if (f) ok = png_close(f) && ok;
    }
    png_colours_close(&c);
    free(index);
    return ok;
}

/* Single bodies whose way is what a scene is about: at so many equal times before the end they stay in the picture. */
static int film_times(const char *scene_name) {
    return strcmp(scene_name, "sliding-box") == 0 || strcmp(scene_name, "anisotropic") == 0 ? 4 : 0;
}

static bool film_expose(film_stage *s, const film_shot *shot) {
    const int count = cast_now()->count, times = film_times(shot->scene);
    int i, k;
    for (i = 0; i < times; i++) {
        if (!film_run_to(s, shot->to * i / times)) return false;
        for (k = 0; k < count; k++)
            if (cast_now()->item[k].kind == CAST_PIECE && !paint_is_still(cast_now()->item + k) && cast_stay(k) < 0)
                return snprintf(s->why, sizeof s->why, "out of memory"), false;
    }
    return film_run_to(s, shot->to);
}

static void film_turn(float *x, csim_quat turn) {
    const csim_vec3 to = csim_rotate(turn, scene_v3((double)x[0], (double)x[1], (double)x[2]));
    x[0] = (float)to.x, x[1] = (float)to.y, x[2] = (float)to.z;
}

/* Where a scene tilts gravity for a slope, the picture is turned until weight points down. */
static bool film_upright(const scene *s) {
    const csim_vec3 up = csim_scale(-1, csim_normalize(s->def.gravity)), z = csim_v3(0, 0, 1), about = csim_cross(up, z);
    const double sine = (double)csim_length(about);
    const int count = cast_now()->count;
    double low[3], high[3];
    int i, k;
    csim_quat turn;
    if (!(sine > 1e-6)) return true;
    turn = csim_quat_axis_angle(about, (csim_real)atan2(sine, (double)up.z));
    for (i = 0; i < count; i++) {
        cast_item *item = cast_now()->item + i;
        if (item->kind == CAST_PIECE) {
            const float *p = item->pose + 3;
            csim_quat q;
            q.w = (csim_real)p[0], q.x = (csim_real)p[1], q.y = (csim_real)p[2], q.z = (csim_real)p[3];
            q = csim_quat_mul(turn, q);
            item->pose[3] = (float)q.w, item->pose[4] = (float)q.x, item->pose[5] = (float)q.y, item->pose[6] = (float)q.z;
        }
        if (item->kind == CAST_PIECE || item->kind == CAST_FLOOR) film_turn(item->pose, turn);
        if (item->kind == CAST_FLOOR) film_turn(item->pose + 3, turn);
        for (k = 0; item->kind != CAST_PIECE && k < item->vertex_count; k++) film_turn(item->vertex + 3 * k, turn);
    }
    paint_bounds(cast_now(), low, high);
    for (i = 0; i < count; i++)
        if (cast_now()->item[i].kind == CAST_FLOOR && cast_plate(i, (float)(2 * (high[2] - low[2]))) < 0) return false;
    return true;
}

static bool film_still(const film_shot *shot, const char *path) {
    film_stage s;
    double low[3], high[3];
    paint_camera c;
    paint *p = paint_open(GALLERY_WIDTH, GALLERY_HEIGHT);
    unsigned char *rgb = (unsigned char *)malloc(3 * GALLERY_WIDTH * GALLERY_HEIGHT);
    bool ok = p && rgb && film_open(&s, shot);
    if (!p || !rgb) return fprintf(stderr, "condsim-film: out of memory\n"), false;
    ok = ok && film_expose(&s, shot) && film_upright(s.now);
    if (ok) {
        paint_bounds(cast_now(), low, high);
        c = film_camera(shot, low, high, (double)GALLERY_WIDTH / GALLERY_HEIGHT);
        ok = paint_cast(p, cast_now()) && paint_draw(p, cast_now(), &c, rgb) &&
             film_write(path, rgb, GALLERY_WIDTH, GALLERY_HEIGHT);
        if (!ok) snprintf(s.why, sizeof s.why, "cannot write %s", path);
    }
    paint_close(p);
    free(rgb);
    return film_close(&s, ok);
}

/* ---- the gallery */

static film_shot gallery_shot(const scene_kind *k) {
    film_shot shot = {NULL, "", 0, 0, 0, 0, -0.9, 0.38, 0.88};
    size_t i;
    for (i = 0; i < sizeof gallery_shots / sizeof *gallery_shots; i++)
        if (strcmp(gallery_shots[i].scene, k->name) == 0) return gallery_shots[i];
    shot.scene = k->name;
    shot.to = k->seconds / 2;
    return shot;
}

static void gallery_row(FILE *page, const scene_kind *k, const film_shot *shot) {
    char size[32] = "";
    if (shot->size) snprintf(size, sizeof size, " --size %d", shot->size);
    fprintf(page, "\n## %s\n\n%c%s, after %g s%s.\n\n![%s](gallery/%s.png)\n\n", k->name,
            k->text[0] >= 'a' && k->text[0] <= 'z' ? k->text[0] - 'a' + 'A' : k->text[0], k->text + 1, shot->to,
            film_times(k->name) ? " and at four times before" : "", k->name, k->name);
    fprintf(page, "    build/bin/condsim-scene %s%s", k->name, size);
    if (shot->settings[0]) {
        const char *t = shot->settings;
        for (fprintf(page, " --set "); *t; t++) fprintf(page, *t == ' ' ? " --set " : "%c", *t);
    }
    fprintf(page, " --html page.html\n");
}

/* Whether a name stands in a list of names with spaces between. */
static bool film_named(const char *list, const char *name) {
    const size_t n = strlen(name);
    const char *at = list;
    for (; (at = strstr(at, name)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
    return false;
}

/* only: the scenes to draw, null for all; the page always shows all. */
static bool gallery(const char *folder, const char *path, const char *only) {
    FILE *page = fopen(path, "w");
    bool ok = page != NULL;
    int i;
    if (!page) return fprintf(stderr, "condsim-film: cannot write %s\n", path), false;
    fprintf(page,
            "# Gallery\n\nEvery scene of `condsim-scene`, drawn from the bodies of its world by `make gallery`. The "
            "command under a\npicture writes the whole motion as a page for a browser. What the scenes measure: "
            "[scenes](scenes.md).\n");
    for (i = 0; i < scene_count(); i++) {
        const scene_kind *k = scene_kind_at(i);
        const film_shot shot = gallery_shot(k);
        char picture_path[SCENE_TEXT];
        snprintf(picture_path, sizeof picture_path, "%s/%s.png", folder, k->name);
        if (!only || film_named(only, k->name)) {
            printf("%s\n", picture_path);
            fflush(stdout);
            ok = film_still(&shot, picture_path) && ok;
        }
        gallery_row(page, k, &shot);
    }
    return fclose(page) == 0 && ok;
}

/* ---- the film */

static int film_frames(const film_shot *s) { return (int)(FILM_SECOND * (s->to - s->from) / s->pace + 0.5); }

/* What moves in the second half of a shot, so that the camera can stand still; things may come into sight before. */
static bool film_bounds(const film_shot *shot, double low[3], double high[3]) {
    film_stage s;
    int i, k;
    bool ok = film_open(&s, shot);
    for (k = 0; k < 3; k++) low[k] = 1e9, high[k] = -1e9;
    for (i = 12; ok && i < 24; i++) {
        double l[3], h[3];
        ok = film_run_to(&s, shot->from + (shot->to - shot->from) * i / 23);
        paint_bounds(cast_now(), l, h);
        for (k = 0; k < 3; k++) low[k] = fmin(low[k], l[k]), high[k] = fmax(high[k], h[k]);
    }
    return film_close(&s, ok);
}

/* Pictures of a shot, one after the other, into rgb. */
static bool film_take(const film_shot *shot, paint *p, unsigned char *rgb) {
    film_stage s;
    double low[3], high[3];
    paint_camera c;
    int i;
    bool ok = film_bounds(shot, low, high);
    c = film_camera(shot, low, high, (double)FILM_WIDTH / FILM_HEIGHT);
    ok = film_open(&s, shot) && ok && paint_cast(p, cast_now());
    for (i = 0; ok && i < film_frames(shot); i++) {
        ok = film_run_to(&s, shot->from + i * shot->pace / FILM_SECOND);
        ok = ok && paint_draw(p, cast_now(), &c, rgb + (size_t)i * 3 * FILM_WIDTH * FILM_HEIGHT);
        if (i % 10 == 9) printf("%s: %d of %d\n", shot->scene, i + 1, film_frames(shot));
    }
    return film_close(&s, ok);
}

static bool film_save(const unsigned char *rgb, int frames, const char *path) {
    const int pixels = FILM_WIDTH * FILM_HEIGHT;
    unsigned char *index = (unsigned char *)malloc((size_t)pixels * 2);
    png_colours c;
    png_film *f = NULL;
    int i;
    bool ok = png_colours_open(&c) && index;
    for (i = 0; ok && i < frames; i++) png_colours_take(&c, rgb + (size_t)i * 3 * (size_t)pixels, pixels);
    if (ok) png_colours_choose(&c);
    ok = ok && (f = png_open(path, FILM_WIDTH, FILM_HEIGHT, frames, FILM_SECOND, &c)) != NULL;
    for (i = 0; ok && i < frames; i++) {
        unsigned char *now = index + i % 2 * pixels, *before = index + (i + 1) % 2 * pixels;
        png_index(&c, rgb + (size_t)i * 3 * (size_t)pixels, pixels, i ? before : NULL, FILM_HOLD, now);
        ok = png_frame(f, now);
    }
    if (f) ok = png_close(f) && ok;
    png_colours_close(&c);
    free(index);
    if (!ok) fprintf(stderr, "condsim-film: cannot write %s\n", path);
    return ok;
}

static bool film(const char *path) {
    const int shots = (int)(sizeof film_shots / sizeof *film_shots);
    int i, frames = 0;
    paint *p = paint_open(FILM_WIDTH, FILM_HEIGHT);
    unsigned char *rgb;
    bool ok = p != NULL;
    for (i = 0; i < shots; i++) frames += film_frames(film_shots + i);
    rgb = (unsigned char *)malloc((size_t)frames * 3 * FILM_WIDTH * FILM_HEIGHT);
    if (!p || !rgb) return fprintf(stderr, "condsim-film: out of memory\n"), false;
    for (frames = i = 0; ok && i < shots; frames += film_frames(film_shots + i++))
        ok = film_take(film_shots + i, p, rgb + (size_t)frames * 3 * FILM_WIDTH * FILM_HEIGHT);
    ok = ok && film_save(rgb, frames, path);
    free(rgb);
    paint_close(p);
    return ok;
}

/* ---- the command */

static bool film_single(int count, char **word) {
    film_shot shot = {NULL, "", 0, 0, 0, 0, -0.9, 0.38, 0.88};
    char settings[SCENE_TEXT] = "";
    int i;
    shot.scene = word[0], shot.to = atof(word[1]);
    for (i = 3; i < count; i++) {
        if (strncmp(word[i], "size=", 5) == 0) {
            shot.size = atoi(word[i] + 5);
        } else if (strncmp(word[i], "turn=", 5) == 0) {
            shot.turn = atof(word[i] + 5);
        } else if (strncmp(word[i], "tilt=", 5) == 0) {
            shot.tilt = atof(word[i] + 5);
        } else if (strncmp(word[i], "zoom=", 5) == 0) {
            shot.zoom = atof(word[i] + 5);
        } else if (strlen(settings) + strlen(word[i]) + 2 < sizeof settings) {
            strcat(strcat(settings, word[i]), " ");
        }
    }
    shot.settings = settings;
    return film_still(&shot, word[2]);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "film") == 0) return film(argv[2]) ? 0 : 1;
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "gallery") == 0)
        return gallery(argv[2], argv[3], argc == 5 && argv[4][0] ? argv[4] : NULL) ? 0 : 1;
    if (argc >= 5 && strcmp(argv[1], "still") == 0) return film_single(argc - 2, argv + 2) ? 0 : 1;
    fprintf(stderr, "condsim-film film FILE | gallery FOLDER PAGE | still SCENE SECONDS FILE [key=value ...]\n");
    return 2;
}
