/* A level of triangles: hills as heights, a flat floor of triangles as a mesh. A ball rolls down the hill; a crate
   slides over 2888 triangles without friction and is as fast behind them as before. Build: cc 14_level.c -lm */
#define CONDSIM_IMPLEMENTATION
#include "../condsim.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACROSS = 65, SIDE = 38 };

/* Blocks of fields belong to the program, are aligned to 64 and stay as long as a world uses them. */
static char *kept[2];

static void *block(int i, size_t bytes) {
    kept[i] = (char *)malloc(bytes + 64);
    return kept[i] ? kept[i] + (64 - (size_t)kept[i] % 64) : NULL;
}

static const csim_field *hills(void) {
    static csim_real z[ACROSS * ACROSS];
    csim_height_field_def d = csim_default_height_field_def();
    const csim_field *field = NULL;
    size_t bytes = 0;
    int i;
    for (i = 0; i < ACROSS * ACROSS; ++i) { /* a bowl, 1 m deep, in quarters of a metre */
        const double x = 0.25 * (i % ACROSS) - 8, y = 0.25 * (i / ACROSS) - 8;
        z[i] = (csim_real)((x * x + y * y) / 64);
    }
    d.heights = z, d.count_x = d.count_y = ACROSS, d.cell = CSIM_R(0.25);
    if (csim_height_field_bytes(&d, &bytes, NULL) == CSIM_OK)
        csim_create_height_field_in(&d, block(0, bytes), bytes, &field, NULL);
    return field;
}

/* A slab: SIDE^2 squares of half a metre above, one square below, and the sides. */
static const csim_field *floor_of_triangles(void) {
    static csim_real x[3 * (SIDE + 1) * (SIDE + 1) * 2];
    static int t[3 * (4 * SIDE * SIDE + 8 * SIDE)];
    csim_mesh_field_def d = csim_default_mesh_field_def();
    const int row = SIDE + 1, layer = row * row;
    const csim_field *field = NULL;
    size_t bytes = 0;
    int i, j, k, n = 0;
    for (i = 0; i < 2 * layer; ++i) {
        x[3 * i] = CSIM_R(0.5) * (csim_real)(i % layer % row);
        x[3 * i + 1] = CSIM_R(0.5) * (csim_real)(i % layer / row);
        x[3 * i + 2] = i < layer ? 0 : -2;
    }
#define TRIANGLE(a, b, c) (t[n++] = (a), t[n++] = (b), t[n++] = (c))
    for (j = 0; j < SIDE; ++j)
        for (i = 0; i < SIDE; ++i) {
            const int a = j * row + i, b = a + layer;
            TRIANGLE(a, a + 1, a + row + 1), TRIANGLE(a, a + row + 1, a + row);
            TRIANGLE(b, b + row + 1, b + 1), TRIANGLE(b, b + row, b + row + 1);
        }
    for (k = 0; k < 4; ++k)
        for (i = 0; i < SIDE; ++i) {
            const int from[4] = {i, i * row + SIDE, layer - 1 - i, (SIDE - i) * row};
            const int way[4] = {1, row, -1, -row}, a = from[k], b = a + way[k];
            TRIANGLE(a + layer, b + layer, b), TRIANGLE(a + layer, b, a);
        }
    d.vertices = x, d.vertex_count = 2 * layer, d.triangles = t, d.triangle_count = n / 3;
    d.strict = true; /* it says so if a triangle is missing or turned round */
    if (csim_mesh_field_bytes(&d, &bytes, NULL) == CSIM_OK)
        csim_create_mesh_field_in(&d, block(1, bytes), bytes, &field, NULL);
    return field;
}

static csim_body_id put(csim_world *world, csim_shape shape, csim_vec3 at, csim_motion motion, csim_real friction) {
    csim_rigid_def d = csim_default_rigid_def();
    csim_body_id id = {0, 0, 0};
    d.shapes = &shape;
    d.shape_count = 1;
    d.pose.position = at;
    d.motion = motion;
    d.surface.friction = friction;
    if (csim_create_rigid(world, &d, &id) != CSIM_OK) printf("%s\n", csim_last_error(world));
    return id;
}

int main(void) {
    const csim_field *bowl = hills(), *slab = floor_of_triangles();
    csim_world_def def = csim_default_world_def();
    csim_world *world;
    csim_error error;
    csim_body_id ball, crate;
    csim_query_hit hit;
    csim_vec3 v;
    csim_pose pose;
    int i;
    if (!bowl || !slab || csim_create_world(&def, &world, &error) != CSIM_OK) return 1;
    put(world, csim_field_shape(bowl), csim_v3(-20, -8, 0), CSIM_STATIC, CSIM_R(0.5)); /* node (0, 0) lies there */
    put(world, csim_field_shape(slab), csim_v3(0, 0, 0), CSIM_STATIC, CSIM_R(0.5));
    ball = put(world, csim_sphere(CSIM_R(0.3)), csim_v3(-16, 0, CSIM_R(0.55)), CSIM_DYNAMIC, CSIM_R(0.5));
    crate = put(world, csim_box(csim_v3(CSIM_R(0.4), CSIM_R(0.3), CSIM_R(0.25))), csim_v3(1, CSIM_R(9.3), CSIM_R(0.25)),
                CSIM_DYNAMIC, 0);
    csim_body_set_velocity(world, crate, csim_v3(4, CSIM_R(0.3), 0), csim_v3(0, 0, 0));
    if (csim_world_cast_ray(world, NULL, csim_v3(-12, 4, 9), csim_v3(0, 0, -10), &hit))
        printf("a ray meets the bowl at z = %.3f\n", (double)hit.point.z);
    for (i = 1; i <= 400; ++i) {
        if (csim_world_step(world, CSIM_R(0.01)) != CSIM_OK) return printf("%s\n", csim_last_error(world)), 1;
        if (i % 100) continue;
        csim_body_get_pose(world, ball, &pose);
        csim_body_get_velocity(world, crate, &v, NULL);
        printf("%d s: ball at x %6.2f, crate at %.6f m/s\n", i / 100, (double)pose.position.x, (double)csim_length(v));
    }
    csim_body_get_pose(world, crate, &pose);
    printf("the crate's middle is %.6f m high\n", (double)pose.position.z);
    csim_destroy_world(world);
    free(kept[0]), free(kept[1]);
    return 0;
}
