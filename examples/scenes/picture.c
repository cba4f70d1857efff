#include "picture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct picture_body {
    csim_body_id id;
    csim_body_kind kind;
    int item; /* piece, surface or points of the replay; -1: not drawn */
    int link; /* of a tree: each is an entry of its own; else -1 */
} picture_body;

struct picture {
    replay *out;
    picture_body *body;
    int body_count;
    csim_real *x; /* nodes of the largest solid */
    float *vertex;
};

static void picture_v3(csim_vec3 v, float *out) {
    out[0] = (float)v.x;
    out[1] = (float)v.y;
    out[2] = (float)v.z;
}

static void picture_quat(csim_quat q, float *out) {
    out[0] = (float)q.w;
    out[1] = (float)q.x;
    out[2] = (float)q.y;
    out[3] = (float)q.z;
}

static void picture_hull(replay_mesh *mesh, const csim_hull_data *hull) {
    float points[3 * CSIM_HULL_MAX_VERTICES];
    int i;
    for (i = 0; i < 3 * hull->vertex_count; i++) points[i] = (float)hull->vertex[i];
    replay_mesh_hull(mesh, points, hull->vertex_count);
}

static double picture_distance(const void *user, const float point[3]) {
    const csim_geometry *g = (const csim_geometry *)user;
    csim_vec3 n;
    uint32_t feature;
    return (double)csim_shape_distance(g, NULL, csim_pose_identity(),
                                       csim_v3((csim_real)point[0], (csim_real)point[1], (csim_real)point[2]), &n,
                                       &feature);
}

/* A mesh as others touch it: by its distances. */
static void picture_field(replay_mesh *mesh, const csim_geometry *g) {
    csim_geometry own = *g;
    float low[3], high[3];
    own.local = csim_pose_identity();
    picture_v3(csim_sub(g->centre, g->half), low);
    picture_v3(csim_add(g->centre, g->half), high);
    replay_mesh_level(mesh, picture_distance, &own, low, high, 40);
}

/* The height at x, y: from above, down by what is surely free, until there is nothing. */
static float picture_height(const csim_geometry *own, float x, float y, float top, float cell) {
    float at[3];
    int k;
    at[0] = x, at[1] = y, at[2] = top;
    for (k = 0; k < 100; k++) {
        const double free = picture_distance(own, at);
        if (!(free > 1e-4 * (double)cell)) break;
        at[2] -= (float)free;
    }
    return at[2];
}

/* Heights by at most PICTURE_ACROSS nodes along a side, every so many of theirs; they have no end below. */
enum { PICTURE_ACROSS = 161, PICTURE_LAND = 0xA9B79A };

static void picture_heights(replay_mesh *mesh, const csim_geometry *g) {
    const csim_field_info info = csim_field_get_info(g->field);
    const float cell = (float)info.cell, top = (float)(g->centre.z + g->half.z) + cell;
    const int most = info.nodes[0] > info.nodes[1] ? info.nodes[0] : info.nodes[1];
    const int step = (most - 2) / (PICTURE_ACROSS - 1) + 1;
    const int nx = (info.nodes[0] - 2) / step + 2, ny = (info.nodes[1] - 2) / step + 2;
    float *vertex = (float *)malloc(3 * sizeof(float) * (size_t)(nx * ny));
    int *triangle = (int *)malloc(6 * sizeof(int) * (size_t)(nx * ny)), i, n = 0;
    csim_geometry own = *g;
    own.local = csim_pose_identity();
    for (i = 0; vertex && i < nx * ny; i++) {
        const int a = step * (i % nx), b = step * (i / nx);
        float *v = vertex + 3 * i;
        v[0] = cell * (float)(a < info.nodes[0] ? a : info.nodes[0] - 1);
        v[1] = cell * (float)(b < info.nodes[1] ? b : info.nodes[1] - 1);
        v[2] = picture_height(&own, v[0], v[1], top, cell);
    }
    for (i = 0; triangle && i < nx * (ny - 1); i++) {
        if (i % nx == nx - 1) continue;
        triangle[n++] = i, triangle[n++] = i + 1, triangle[n++] = i + nx + 1;
        triangle[n++] = i, triangle[n++] = i + nx + 1, triangle[n++] = i + nx;
    }
    if (vertex && triangle) replay_mesh_copy(mesh, vertex, nx * ny, triangle, n / 3);
    free(vertex);
    free(triangle);
}

static void picture_shape(replay_mesh *mesh, const csim_geometry *g, const csim_hull_data *hull) {
    replay_mesh one;
    float position[3], turn[4];
    memset(&one, 0, sizeof one);
    if (g->kind == CSIM_SHAPE_SPHERE) replay_mesh_sphere(&one, (float)g->radius);
    if (g->kind == CSIM_SHAPE_CAPSULE) replay_mesh_capsule(&one, (float)g->radius, (float)g->half_height);
    if (g->kind == CSIM_SHAPE_CYLINDER) replay_mesh_cylinder(&one, (float)g->radius, (float)g->half_height);
    if (g->kind == CSIM_SHAPE_BOX) replay_mesh_box(&one, (float)g->half.x, (float)g->half.y, (float)g->half.z);
    if (g->kind == CSIM_SHAPE_HULL) picture_hull(&one, hull);
    if (g->kind == CSIM_SHAPE_MESH) picture_field(&one, g);
    if (g->kind == CSIM_SHAPE_HEIGHTS) picture_heights(&one, g);
    picture_v3(g->local.position, position);
    picture_quat(g->local.rotation, turn);
    replay_mesh_add(mesh, &one, position, turn);
    replay_mesh_free(&one);
}

/* A thin bone from the origin to a point. */
static void picture_bone(replay_mesh *mesh, csim_vec3 to) {
    const double length = (double)csim_length(to), across = sqrt((double)(to.x * to.x + to.y * to.y));
    const csim_quat turn = across > 0 ? scene_turn(-(double)to.y, (double)to.x, 0, atan2(across, (double)to.z))
                                      : scene_turn(1, 0, 0, to.z < 0 ? 3.14159265358979 : 0);
    replay_mesh one;
    float position[3], q[4];
    if (length < 0.01) return;
    picture_v3(csim_scale(CSIM_R(0.5), to), position);
    picture_quat(turn, q);
    replay_mesh_capsule(&one, (float)fmin(0.01, 0.06 * length), (float)(length / 2));
    replay_mesh_add(mesh, &one, position, q);
    replay_mesh_free(&one);
}

/* Bones from the joint of a link to its shapes and to the joints that hang on it, in robots that walk freely: files
   give them shapes that lie apart. */
static void picture_bones(replay_mesh *mesh, const csim_world *w, csim_body_id id, int link) {
    int i, on, rates = 0, links = 0;
    csim_pose own, other;
    csim_tree_link_place(w, id, 0, NULL, NULL, &rates);
    if (rates != 6) return;
    csim_tree_sizes(w, id, &links, NULL, NULL);
    csim_tree_link_pose(w, id, link, &own);
    for (i = 0; i < csim_body_shape_count(w, id); i++) {
        const csim_geometry *g;
        if (csim_tree_shape_link(w, id, i, &on) != CSIM_OK || on != link) continue;
        if (csim_body_shape(w, id, i, &g, NULL) == CSIM_OK) picture_bone(mesh, g->local.position);
    }
    for (i = link + 1; i < links; i++) {
        if (csim_tree_link_parent(w, id, i, &on) != CSIM_OK || on != link) continue;
        csim_tree_link_pose(w, id, i, &other);
        picture_bone(mesh, csim_unrotate(own.rotation, csim_sub(other.position, own.position)));
    }
}

/* The floor of a half-space, the pieces of everything else; link >= 0: of that link of a tree. */
static int picture_rigid(picture *p, const csim_world *w, csim_body_id id, int link) {
    replay_mesh mesh;
    csim_motion motion = CSIM_DYNAMIC;
    int i, item = -1, colour, count = csim_body_shape_count(w, id);
    csim_body_get_motion(w, id, &motion);
    colour = motion == CSIM_STATIC ? REPLAY_FIXED : REPLAY_AUTO;
    memset(&mesh, 0, sizeof mesh);
    for (i = 0; i < count; i++) {
        const csim_geometry *g;
        const csim_hull_data *hull;
        int on = -1;
        if (link >= 0) csim_tree_shape_link(w, id, i, &on);
        if (on != link) continue;
        if (csim_body_shape(w, id, i, &g, &hull) != CSIM_OK) continue;
        if (g->kind == CSIM_SHAPE_HALF_SPACE) {
            csim_pose pose;
            float point[3], normal[3];
            csim_body_get_pose(w, id, &pose);
            pose = csim_pose_mul(pose, g->local);
            picture_v3(pose.position, point);
            picture_v3(csim_rotate(pose.rotation, csim_v3(0, 0, 1)), normal);
            replay_floor(p->out, point, normal);
        } else {
            picture_shape(&mesh, g, hull);
            if (g->kind == CSIM_SHAPE_HEIGHTS) colour = PICTURE_LAND; /* it takes light and shadows */
        }
    }
    if (link >= 0) picture_bones(&mesh, w, id, link);
    if (mesh.triangle_count > 0)
        item = replay_piece(p->out, "body", colour, &mesh);
    replay_mesh_free(&mesh);
    return item;
}

static bool picture_has_surface(csim_body_kind kind) {
    return kind == CSIM_SOFT || kind == CSIM_BODY_CLOTH || kind == CSIM_BODY_REDUCED;
}

static int picture_solid(picture *p, const csim_world *w, csim_body_id id) {
    const int *triangles;
    int count;
    if (csim_body_surface(w, id, &triangles, &count) != CSIM_OK) return -1;
    return replay_surface(p->out, "solid", REPLAY_AUTO, csim_body_node_count(w, id), triangles, count);
}

/* A cable is a tube of PICTURE_SIDES sides, a ring of corners at every node, with a lid at its ends. */
enum { PICTURE_SIDES = 8 };

static int picture_cable(picture *p, const csim_world *w, csim_body_id id) {
    const int nodes = csim_body_node_count(w, id), edges = csim_cable_edge_count(w, id), sides = PICTURE_SIDES;
    int *triangle = (int *)calloc((size_t)(edges + 1) * (size_t)sides * 6, sizeof *triangle), *t = triangle, i, k, item;
    if (!triangle) return -1;
    for (i = 0; i < edges; i++)
        for (k = 0; k < sides; k++) {
            int a = i * sides + k, b = i * sides + (k + 1) % sides, next = (i + 1) % nodes - i;
            *t++ = a, *t++ = b, *t++ = b + next * sides;
            *t++ = a, *t++ = b + next * sides, *t++ = a + next * sides;
        }
    for (k = 2; k < sides && edges < nodes; k++) {
        *t++ = 0, *t++ = k, *t++ = k - 1;
        *t++ = edges * sides, *t++ = edges * sides + k - 1, *t++ = edges * sides + k;
    }
    item = replay_surface(p->out, "cable", REPLAY_AUTO, nodes * sides, triangle, (int)(t - triangle) / 3);
    free(triangle);
    return item;
}

static void picture_tube(picture *p, const csim_world *w, csim_body_id id) {
    const int nodes = csim_body_node_count(w, id), edges = csim_cable_edge_count(w, id);
    csim_real *q = p->x + 3 * nodes, radius = 0;
    int i, k;
    csim_body_get_nodes(w, id, p->x, 3);
    csim_cable_get_frames(w, id, q, 4);
    csim_cable_get_radius(w, id, &radius);
    for (i = 0; i < nodes; i++) { /* the mean turn of the edges at a node */
        const csim_real *f = q + 4 * (i < edges ? i : edges - 1);
        const csim_real *g = q + 4 * (i > 0 ? i - 1 : edges == nodes ? edges - 1 : 0);
        const csim_real way = f[0] * g[0] + f[1] * g[1] + f[2] * g[2] + f[3] * g[3] < 0 ? -1 : 1;
        csim_quat turn;
        turn.w = f[0] + way * g[0], turn.x = f[1] + way * g[1];
        turn.y = f[2] + way * g[2], turn.z = f[3] + way * g[3];
        turn = csim_quat_normalize(turn);
        for (k = 0; k < PICTURE_SIDES; k++) {
            double a = 6.283185307179586 * k / PICTURE_SIDES;
            csim_vec3 out = csim_rotate(turn, csim_v3((csim_real)cos(a), (csim_real)sin(a), 0));
            csim_vec3 x = csim_v3(p->x[3 * i], p->x[3 * i + 1], p->x[3 * i + 2]);
            picture_v3(csim_madd(x, radius, out), p->vertex + 3 * (i * PICTURE_SIDES + k));
        }
    }
}

static void picture_cast(picture *p, const csim_world *w) {
    int i;
    for (i = 0; i < p->body_count; i++) {
        picture_body *b = p->body + i;
        csim_body_get_kind(w, b->id, &b->kind);
        b->item = b->kind == CSIM_RIGID          ? picture_rigid(p, w, b->id, -1)
                  : b->kind == CSIM_BODY_TREE    ? picture_rigid(p, w, b->id, b->link)
                  : picture_has_surface(b->kind) ? picture_solid(p, w, b->id)
                  : b->kind == CSIM_BODY_CABLE   ? picture_cable(p, w, b->id)
                                                 : replay_points(p->out, "particle", REPLAY_AUTO, 1, 0.01f);
    }
}

static void picture_positions(picture *p, const csim_world *w) {
    int i, k;
    for (i = 0; i < p->body_count; i++) {
        const picture_body *b = p->body + i;
        csim_pose pose;
        float position[3], turn[4];
        if (b->item < 0 || csim_body_get_pose(w, b->id, &pose) != CSIM_OK) continue;
        if (b->link >= 0 && csim_tree_link_pose(w, b->id, b->link, &pose) != CSIM_OK) continue;
        picture_v3(pose.position, position);
        picture_quat(pose.rotation, turn);
        if (b->kind == CSIM_RIGID || b->kind == CSIM_BODY_TREE) replay_pose(p->out, b->item, position, turn);
        if (b->kind == CSIM_PARTICLE) replay_point_positions(p->out, b->item, position);
        if (b->kind == CSIM_BODY_CABLE) {
            picture_tube(p, w, b->id);
            replay_surface_vertices(p->out, b->item, p->vertex);
        }
        if (!picture_has_surface(b->kind)) continue;
        csim_body_get_nodes(w, b->id, p->x, 3);
        for (k = 0; k < 3 * csim_body_node_count(w, b->id); k++) p->vertex[k] = (float)p->x[k];
        replay_surface_vertices(p->out, b->item, p->vertex);
    }
}

static void picture_contacts(picture *p, const scene *s) {
    int i, count = 0;
    const csim_contact_info *c = csim_world_contacts(s->world, &count);
    for (i = 0; i < count; i++) {
        float point[3], force[3];
        if (c[i].state == CSIM_CONTACT_OPEN) continue;
        picture_v3(c[i].point, point);
        picture_v3(csim_scale((csim_real)(1 / s->h), c[i].impulse), force);
        replay_contact(p->out, point, force, c[i].state == CSIM_CONTACT_STICK ? REPLAY_STICK : REPLAY_SLIP);
    }
}

static void picture_free(picture *p) {
    free(p->body);
    free(p->x);
    free(p->vertex);
    free(p);
}

/* Room for the bodies and for the nodes of the largest solid. */
static picture *picture_alloc(const csim_world *w) {
    picture *p = (picture *)calloc(1, sizeof *p);
    int i, k, nodes = 1, links, entries = 0, count = csim_world_body_count(w);
    csim_body_id *ids = (csim_body_id *)calloc((size_t)count + 1, sizeof *ids);
    if (ids) csim_world_bodies(w, ids, count);
    for (i = 0; ids && i < count; i++) entries += csim_tree_sizes(w, ids[i], &links, NULL, NULL) == CSIM_OK ? links : 1;
    if (p) p->body = (picture_body *)calloc((size_t)entries + 1, sizeof *p->body);
    if (p && p->body && ids) {
        for (i = 0; i < count; i++) {
            int n = csim_body_node_count(w, ids[i]);
            bool tree = csim_tree_sizes(w, ids[i], &links, NULL, NULL) == CSIM_OK;
            for (k = 0; k < (tree ? links : 1); k++) {
                p->body[p->body_count].id = ids[i];
                p->body[p->body_count++].link = tree ? k : -1;
            }
            if (n > nodes) nodes = n;
        }
        p->x = (csim_real *)calloc((size_t)nodes * 7, sizeof *p->x); /* frames of cables behind the nodes */
        p->vertex = (float *)calloc((size_t)nodes * 3 * PICTURE_SIDES, sizeof *p->vertex);
    }
    free(ids);
    if (p && p->x && p->vertex) return p;
    if (p) picture_free(p);
    return NULL;
}

picture *picture_open(const scene *s, const char *path, char *error, size_t error_size) {
    picture *p = picture_alloc(s->world);
    if (!p || !(p->out = replay_open(path, s->kind->name, 60))) {
        snprintf(error, error_size, "out of memory");
        if (p) picture_free(p);
        return NULL;
    }
    if (replay_note(p->out, s->kind->text) < 0) { /* what replay_open met: a path that cannot be written */
        replay_close(p->out, error, error_size);
        picture_free(p);
        return NULL;
    }
    replay_tolerance(p->out, (double)s->def.solver.tolerance);
    picture_cast(p, s->world);
    replay_frame(p->out, 0);
    picture_positions(p, s->world);
    return p;
}

void picture_step(picture *p, const scene *s, const csim_step_stats *t) {
    const csim_totals energy = csim_world_totals(s->world);
    replay_values v;
    v.time = t->time;
    v.residual = csim_certificate_worst(&t->certificate);
    v.penetration = t->penetration;
    v.kinetic = energy.kinetic;
    v.potential = energy.gravity + energy.elastic;
    v.contacts = t->contacts;
    v.iterations = t->iterations;
    v.solve_ms = 1e3 * t->solve_seconds;
    replay_step(p->out, &v);
    if (replay_due(p->out, t->time) != 1) return;
    replay_frame(p->out, t->time);
    picture_positions(p, s->world);
    picture_contacts(p, s);
}

bool picture_close(picture *p, const scene *s, char *error, size_t error_size) {
    static const char *const integrators[] = {"backward Euler", "midpoint", "two-step", "half-step"};
    bool ok;
    int i;
    replay_fact(p->out, "step", "%g s", s->h);
    replay_fact(p->out, "integrator", "%s", integrators[s->def.integrator]);
    for (i = 0; i < s->figure_count; i++) replay_fact(p->out, s->figure[i].name, "%.4g", s->figure[i].value);
    ok = replay_close(p->out, error, error_size) >= 0;
    picture_free(p);
    return ok;
}
