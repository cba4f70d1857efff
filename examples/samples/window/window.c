/* window: condsim in a window of its own, a template to begin with. GLFW and plain OpenGL; drag anything with the left
   button, turn the view with the right one, wheel: nearer. Space pauses, B throws a ball, Escape ends.

       cc -O2 window.c -lglfw -lGL -lm

   window --shot FILE.ppm [--steps N] [--drag X0 Y0 X1 Y1] runs N steps without a person, drags from one pixel to the
   other, writes the picture and says where the top box is. */
#define CONDSIM_IMPLEMENTATION
#include "../../../condsim.h"
#include <GLFW/glfw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 960, HEIGHT = 600, THINGS = 256, BOXES = 6 };
#define STEP (CSIM_R(1) / 60)

/* What the program keeps of a body: how to draw it. */
typedef struct thing {
    csim_body_id id;
    csim_vec3 half; /* of a box; x < 0: a ball of radius -x; 0: a solid, drawn by its surface */
    float colour[3];
} thing;

typedef struct app {
    csim_world *world;
    thing thing[THINGS];
    int things;
    double turn, tilt, far; /* of the eye */
    csim_link_id mouse;     /* the joint that draws */
    double depth;           /* of what is held, along the ray */
    bool holds, pause;
    double x, y; /* of the pointer, pixels */
} app;

/* ---- the world */

static void paint(thing *t, unsigned rgb) {
    int k;
    for (k = 0; k < 3; ++k) t->colour[k] = (float)(rgb >> (16 - 8 * k) & 255) / 255;
}

static csim_body_id add_rigid(app *a, csim_shape shape, csim_vec3 half, csim_vec3 at, csim_vec3 velocity,
                              unsigned rgb) {
    csim_rigid_def def = csim_default_rigid_def();
    thing *t = a->thing + a->things;
    def.shapes = &shape, def.shape_count = 1;
    def.density = 300;
    def.pose.position = at, def.velocity = velocity;
    t->id.index1 = 0;
    if (a->things == THINGS || csim_create_rigid(a->world, &def, &t->id) != CSIM_OK) return t->id;
    t->half = half;
    paint(t, rgb);
    return a->thing[a->things++].id;
}

static void add_soft(app *a, csim_vec3 at) {
    csim_soft_def def;
    thing *t = a->thing + a->things;
    csim_mesh mesh;
    if (csim_mesh_make_box(csim_v3(0.4, 0.4, 0.3), 4, 4, 3, NULL, &mesh, NULL) != CSIM_OK) return;
    def = csim_mesh_soft_def(&mesh);
    def.young = 3e4, def.density = 300;
    def.pose.position = at;
    if (csim_create_soft(a->world, &def, &t->id) == CSIM_OK) {
        t->half = csim_v3(0, 0, 0);
        paint(t, 0xd9608c);
        a->things++;
    }
    csim_mesh_free(&mesh);
}

static bool begin(app *a) {
    static const unsigned colours[BOXES] = {0xd95f3b, 0x3f7fd0, 0xeab53c, 0x4ca878, 0x8d69c0, 0x55a5b0};
    csim_world_def def = csim_realtime_world_def();
    csim_vec3 half = csim_v3(0.25, 0.25, 0.25);
    csim_body_id ground;
    csim_error error;
    int i;
    memset(a, 0, sizeof *a);
    a->turn = -1.1, a->tilt = 0.35, a->far = 6;
    if (csim_create_world(&def, &a->world, &error) != CSIM_OK) return fprintf(stderr, "%s\n", error.text), false;
    csim_create_ground(a->world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.6), &ground);
    for (i = 0; i < BOXES; ++i)
        add_rigid(a, csim_box(half), half, csim_v3(0, 0, 0.25 + 0.5 * i), csim_v3(0, 0, 0), colours[i]);
    add_soft(a, csim_v3(1.4, 0, 0.8));
    return true;
}

/* ---- the eye: a point on a sphere around (0, 0, 1) */

typedef struct eye {
    csim_vec3 at, ahead, right, up;
} eye;

static eye look(const app *a) {
    eye e;
    csim_vec3 back = csim_v3((csim_real)(cos(a->tilt) * cos(a->turn)), (csim_real)(cos(a->tilt) * sin(a->turn)),
                             (csim_real)sin(a->tilt));
    e.at = csim_madd(csim_v3(0.3, 0, 1), (csim_real)a->far, back);
    e.ahead = csim_scale(-1, back);
    e.right = csim_normalize(csim_cross(e.ahead, csim_v3(0, 0, 1)));
    e.up = csim_cross(e.right, e.ahead);
    return e;
}

/* The unit way from the eye through a pixel; the view spans 2 atan(0.45) from below to above. */
static csim_vec3 through(const eye *e, double x, double y) {
    const double s = 0.9 * (x - WIDTH / 2.0) / HEIGHT, t = 0.9 * (HEIGHT / 2.0 - y) / HEIGHT;
    return csim_normalize(
        csim_add(e->ahead, csim_add(csim_scale((csim_real)s, e->right), csim_scale((csim_real)t, e->up))));
}

/* ---- the hand: a ray finds what lies under the pointer, a mouse joint draws it */

/* The corner of a solid's triangle that is nearest to the hit. */
static int nearest_node(const app *a, const csim_query_hit *hit) {
    const int *triangles;
    int count, k, best = 0;
    if (hit->part != CSIM_QUERY_TRIANGLE || csim_body_surface(a->world, hit->body, &triangles, &count) != CSIM_OK)
        return 0;
    for (k = 1; k < 3; ++k)
        if (hit->weight[k] > hit->weight[best]) best = k;
    return triangles[3 * hit->index + best];
}

static void grab(app *a) {
    const eye e = look(a);
    csim_joint_def def = csim_default_joint_def();
    csim_motion motion;
    csim_query_hit hit;
    if (!csim_world_cast_ray(a->world, NULL, e.at, csim_scale(100, through(&e, a->x, a->y)), &hit)) return;
    if (csim_body_get_motion(a->world, hit.body, &motion) != CSIM_OK || motion != CSIM_DYNAMIC) return;
    def.kind = CSIM_JOINT_MOUSE;
    def.a.body = hit.body, def.a.node = nearest_node(a, &hit);
    def.a.point = def.b.point = hit.point; /* b: the world */
    if (csim_create_joint(a->world, &def, &a->mouse) != CSIM_OK) {
        fprintf(stderr, "%s\n", csim_last_error(a->world));
        return;
    }
    a->holds = true;
    a->depth = (double)hit.distance;
}

static void drag(app *a) {
    const eye e = look(a);
    if (a->holds)
        csim_joint_set_anchor(a->world, a->mouse, csim_madd(e.at, (csim_real)a->depth, through(&e, a->x, a->y)));
}

static void release(app *a) {
    if (a->holds) csim_destroy_link(a->world, a->mouse);
    a->holds = false;
}

static void throw_ball(app *a) {
    const eye e = look(a);
    add_rigid(a, csim_sphere(CSIM_R(0.15)), csim_v3(-0.15, 0, 0), csim_madd(e.at, 1, e.ahead),
              csim_scale(10, through(&e, a->x, a->y)), 0xf0f0f0);
}

/* ---- drawing */

static void vertex(csim_vec3 v) { glVertex3d((double)v.x, (double)v.y, (double)v.z); }
static void normal(csim_vec3 v) { glNormal3d((double)v.x, (double)v.y, (double)v.z); }

static void draw_box(csim_vec3 h) {
    int axis, side, k;
    glBegin(GL_QUADS);
    for (axis = 0; axis < 3; ++axis)
        for (side = -1; side <= 1; side += 2) {
            csim_real n[3] = {0, 0, 0};
            n[axis] = (csim_real)side;
            normal(csim_v3(n[0], n[1], n[2]));
            for (k = 0; k < 4; ++k) {
                csim_real c[3];
                c[axis] = (csim_real)side;
                c[(axis + 1) % 3] = (k == 1 || k == 2 ? CSIM_R(1) : CSIM_R(-1)) * (csim_real)side;
                c[(axis + 2) % 3] = k >= 2 ? CSIM_R(1) : CSIM_R(-1);
                vertex(csim_v3(c[0] * h.x, c[1] * h.y, c[2] * h.z));
            }
        }
    glEnd();
}

static void draw_ball(double r) {
    const double pi = 3.14159265358979;
    int i, j, k;
    for (j = 0; j < 12; ++j) {
        glBegin(GL_QUAD_STRIP);
        for (i = 0; i <= 24; ++i)
            for (k = 0; k < 2; ++k) {
                const double a = 2 * pi * i / 24, b = pi * (j + k) / 12;
                csim_vec3 n = csim_v3((csim_real)(sin(b) * cos(a)), (csim_real)(sin(b) * sin(a)), (csim_real)cos(b));
                normal(n);
                vertex(csim_scale((csim_real)r, n));
            }
        glEnd();
    }
}

static void draw_solid(const app *a, csim_body_id id) {
    const int nodes = csim_body_node_count(a->world, id), *t;
    csim_real *x = (csim_real *)malloc(sizeof *x * 3 * (size_t)nodes);
    int i, k, count;
    if (x && csim_body_get_nodes(a->world, id, x, 3) == CSIM_OK &&
        csim_body_surface(a->world, id, &t, &count) == CSIM_OK) {
        glBegin(GL_TRIANGLES);
        for (i = 0; i < count; ++i) {
            csim_vec3 c[3];
            for (k = 0; k < 3; ++k)
                c[k] = csim_v3(x[3 * t[3 * i + k]], x[3 * t[3 * i + k] + 1], x[3 * t[3 * i + k] + 2]);
            normal(csim_normalize(csim_cross(csim_sub(c[1], c[0]), csim_sub(c[2], c[0]))));
            for (k = 0; k < 3; ++k) vertex(c[k]);
        }
        glEnd();
    }
    free(x);
}

/* The columns of a rigid motion, as OpenGL wants them. */
static void place(csim_pose p) {
    const csim_vec3 x = csim_rotate(p.rotation, csim_v3(1, 0, 0)), y = csim_rotate(p.rotation, csim_v3(0, 1, 0));
    const csim_vec3 z = csim_cross(x, y), o = p.position;
    const double m[16] = {(double)x.x, (double)x.y, (double)x.z, 0, (double)y.x, (double)y.y, (double)y.z, 0,
                          (double)z.x, (double)z.y, (double)z.z, 0, (double)o.x, (double)o.y, (double)o.z, 1};
    glMultMatrixd(m);
}

static void draw_things(const app *a, bool shadow) {
    int i;
    for (i = 0; i < a->things; ++i) {
        const thing *t = a->thing + i;
        csim_pose pose;
        if (!shadow) glColor3fv(t->colour);
        if (csim_body_get_pose(a->world, t->id, &pose) != CSIM_OK) continue;
        glPushMatrix();
        if (t->half.x != 0) place(pose);
        if (t->half.x > 0) draw_box(t->half);
        if (t->half.x < 0) draw_ball(-(double)t->half.x);
        if (t->half.x == 0) draw_solid(a, t->id);
        glPopMatrix();
    }
}

static void draw_ground(void) {
    int i;
    glColor3f(0.90f, 0.91f, 0.94f);
    glBegin(GL_QUADS);
    glVertex3d(-20, -20, 0), glVertex3d(20, -20, 0), glVertex3d(20, 20, 0), glVertex3d(-20, 20, 0);
    glEnd();
    glColor3f(0.83f, 0.85f, 0.89f);
    glBegin(GL_LINES);
    for (i = -20; i <= 20; ++i) {
        glVertex3d(i, -20, 0.001), glVertex3d(i, 20, 0.001);
        glVertex3d(-20, i, 0.001), glVertex3d(20, i, 0.001);
    }
    glEnd();
}

static void draw_shadows(const app *a) { /* everything pressed along the light on the ground */
    const double flat[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0.35, 0.5, 0, 0, 0, 0, 0.003, 1};
    glColor3f(0.74f, 0.76f, 0.81f);
    glPushMatrix();
    glMultMatrixd(flat);
    draw_things(a, true);
    glPopMatrix();
}

static void draw(const app *a) {
    const float sun[4] = {-0.35f, -0.5f, 1, 0}, half[4] = {0.75f, 0.74f, 0.70f, 1}, sky[4] = {0.42f, 0.43f, 0.46f, 1};
    const eye e = look(a);
    const double near = 0.1, up = 0.45 * near,
                 m[16] = {(double)e.right.x,
                          (double)e.up.x,
                          -(double)e.ahead.x,
                          0,
                          (double)e.right.y,
                          (double)e.up.y,
                          -(double)e.ahead.y,
                          0,
                          (double)e.right.z,
                          (double)e.up.z,
                          -(double)e.ahead.z,
                          0,
                          0,
                          0,
                          0,
                          1};
    glClearColor(0.90f, 0.92f, 0.95f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glEnable(GL_DEPTH_TEST);
    glMatrixMode(GL_PROJECTION);
    glLoadIdentity();
    glFrustum(-up * WIDTH / HEIGHT, up * WIDTH / HEIGHT, -up, up, near, 100);
    glMatrixMode(GL_MODELVIEW);
    glLoadMatrixd(m);
    glTranslated(-(double)e.at.x, -(double)e.at.y, -(double)e.at.z);
    glDisable(GL_LIGHTING);
    draw_ground();
    draw_shadows(a);
    glEnable(GL_LIGHTING), glEnable(GL_LIGHT0), glEnable(GL_COLOR_MATERIAL), glEnable(GL_NORMALIZE);
    glLightfv(GL_LIGHT0, GL_POSITION, sun), glLightfv(GL_LIGHT0, GL_DIFFUSE, half);
    glLightModelfv(GL_LIGHT_MODEL_AMBIENT, sky);
    draw_things(a, false);
}

/* ---- the window */

static app *of(GLFWwindow *w) { return (app *)glfwGetWindowUserPointer(w); }

static void on_move(GLFWwindow *w, double x, double y) {
    app *a = of(w);
    if (glfwGetMouseButton(w, GLFW_MOUSE_BUTTON_RIGHT) == GLFW_PRESS) {
        a->turn -= 0.006 * (x - a->x);
        a->tilt = fmin(1.4, fmax(0.02, a->tilt + 0.006 * (y - a->y)));
    }
    a->x = x, a->y = y;
    drag(a);
}

static void on_button(GLFWwindow *w, int button, int action, int mods) {
    (void)mods;
    if (button != GLFW_MOUSE_BUTTON_LEFT) return;
    release(of(w));
    if (action == GLFW_PRESS) grab(of(w));
}

static void on_wheel(GLFWwindow *w, double x, double y) {
    (void)x;
    of(w)->far = fmin(20, fmax(2, of(w)->far * pow(0.9, y)));
}

static void on_key(GLFWwindow *w, int key, int code, int action, int mods) {
    (void)code, (void)mods;
    if (action != GLFW_PRESS) return;
    if (key == GLFW_KEY_ESCAPE) glfwSetWindowShouldClose(w, 1);
    if (key == GLFW_KEY_SPACE) of(w)->pause = !of(w)->pause;
    if (key == GLFW_KEY_B) throw_ball(of(w));
}

static bool step(app *a) {
    if (csim_world_step(a->world, STEP) == CSIM_OK) return true;
    fprintf(stderr, "%s\n", csim_last_error(a->world));
    return false;
}

static void run(app *a, GLFWwindow *w) {
    double last = glfwGetTime(), owed = 0;
    while (!glfwWindowShouldClose(w)) {
        const double now = glfwGetTime();
        owed = fmin(owed + now - last, 0.1); /* a slow machine shows slow motion */
        last = now;
        for (; owed > 0; owed -= (double)STEP)
            if (!a->pause && !step(a)) return;
        draw(a);
        glfwSwapBuffers(w);
        glfwPollEvents();
    }
}

/* ---- without a person */

static bool shoot(app *a, const char *path, int steps, const double *way) {
    unsigned char *rgb = (unsigned char *)malloc(3 * WIDTH * HEIGHT);
    FILE *f = fopen(path, "wb");
    csim_pose top;
    int i;
    if (!rgb || !f) return false;
    for (i = 0; i < steps; ++i) {
        const double part = (double)i / steps;
        a->x = way[0] + part * (way[2] - way[0]), a->y = way[1] + part * (way[3] - way[1]);
        if (i == 0) grab(a);
        drag(a);
        if (!step(a)) return false;
    }
    draw(a);
    glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGB, GL_UNSIGNED_BYTE, rgb);
    fprintf(f, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    for (i = HEIGHT - 1; i >= 0; --i) fwrite(rgb + (size_t)i * 3 * WIDTH, 3, WIDTH, f);
    csim_body_get_pose(a->world, a->thing[BOXES - 1].id, &top);
    printf("held %d top %.3f %.3f %.3f\n", a->holds, (double)top.position.x, (double)top.position.y,
           (double)top.position.z);
    free(rgb);
    return fclose(f) == 0;
}

int main(int argc, char **argv) {
    double way[4] = {0, 0, 0, 0};
    const char *path = NULL;
    int steps = 60, i, k;
    bool ok = true;
    GLFWwindow *w;
    app a;
    for (i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--shot") == 0 && i + 1 < argc) path = argv[++i];
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) steps = atoi(argv[++i]);
        if (strcmp(argv[i], "--drag") == 0 && i + 4 < argc)
            for (k = 0; k < 4; ++k) way[k] = atof(argv[++i]);
    }
    if (!glfwInit()) return fprintf(stderr, "window: no display\n"), 3;
    glfwWindowHint(GLFW_SAMPLES, 4);
    glfwWindowHint(GLFW_RESIZABLE, 0);
    w = glfwCreateWindow(WIDTH, HEIGHT, "condsim", NULL, NULL);
    if (!w) return fprintf(stderr, "window: no OpenGL\n"), 3;
    if (!begin(&a)) return 1;
    glfwMakeContextCurrent(w);
    glfwSwapInterval(1);
    glfwSetWindowUserPointer(w, &a);
    glfwSetCursorPosCallback(w, on_move), glfwSetMouseButtonCallback(w, on_button);
    glfwSetScrollCallback(w, on_wheel), glfwSetKeyCallback(w, on_key);
    if (path)
        ok = shoot(&a, path, steps, way);
    else
        run(&a, w);
    csim_destroy_world(a.world);
    glfwTerminate();
    return ok ? 0 : 1;
}
