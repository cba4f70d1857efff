/* collide/sample: points that stand for a shape's surface. */
#include "private.h"

enum { CSIMI_EDGE_SAMPLES = 63 };

CSIMI_FN void csimi_sampler_start(csimi_sampler *s, const csim_geometry *g, const csim_hull_data *hulls,
                                  csim_real spacing) {
    s->geometry = g;
    s->spacing = spacing;
    s->next = s->number = 0;
    s->edge = -1;
    s->along = 0;
    s->radius = 0;
    s->point = csim_v3(0, 0, 0);
    s->begins = false;
    s->least = -CSIMI_HUGE;
    s->from[0] = s->from[1] = 0;
    s->end[0] = g->field ? g->field->n[0] : 0;
    s->end[1] = g->field ? g->field->n[1] : 0;
    if (g->kind == CSIM_SHAPE_BOX || g->kind == CSIM_SHAPE_HULL) csimi_polytope_of(&s->polytope, g, hulls);
}

/* Pieces a length is cut into. */
static int csimi_pieces(csim_real length, csim_real spacing, int most) {
    csim_real n = spacing > 0 ? length / spacing : 0;
    return csimi_cut(n, 0, most - 1) + 1;
}

/* Corners, then the inner points of one edge after the other. */
static bool csimi_sample_polytope(csimi_sampler *s) {
    const csimi_polytope *p = &s->polytope;
    csim_vec3 a, b;
    if (s->edge < 0) {
        if (s->next < p->vertex_count) {
            s->number = s->next;
            s->point = csimi_load3(p->vertex + 3 * s->next++);
            return true;
        }
        s->next = s->along = 0;
        if (s->spacing > CSIM_R(2.001) * s->geometry->bound) return false; /* no edge is as long */
    }
    while (s->next >= s->along) {
        if (++s->edge >= p->edge_count) return false;
        a = csimi_load3(p->vertex + 3 * p->edge_vertex[2 * s->edge]);
        b = csimi_load3(p->vertex + 3 * p->edge_vertex[2 * s->edge + 1]);
        s->along = csimi_pieces(csim_length(csim_sub(b, a)), s->spacing, CSIMI_EDGE_SAMPLES + 1) - 1;
        s->next = 0;
    }
    a = csimi_load3(p->vertex + 3 * p->edge_vertex[2 * s->edge]);
    b = csimi_load3(p->vertex + 3 * p->edge_vertex[2 * s->edge + 1]);
    s->number = CSIM_HULL_MAX_VERTICES + (CSIMI_EDGE_SAMPLES + 1) * s->edge + s->next;
    s->point = csim_madd(a, (csim_real)(s->next + 1) / (csim_real)(s->along + 1), csim_sub(b, a));
    s->next++;
    return true;
}

/* Balls along the axis between the ends at -+half; what is shorter than nothing has none. */
static bool csimi_sample_axis(csimi_sampler *s, csim_real half) {
    int n = half > 0 ? csimi_pieces(2 * half, s->spacing, 4 * CSIMI_EDGE_SAMPLES) : 0;
    if (half < 0 || s->next > n) return false;
    s->number = s->next;
    s->radius = s->geometry->radius;
    s->point = csim_v3(0, 0, n > 0 ? half * (2 * (csim_real)s->next / (csim_real)n - 1) : 0);
    s->next++;
    return true;
}

/* Balls inside, then both rims. */
static bool csimi_sample_cylinder(csimi_sampler *s) {
    const csim_geometry *g = s->geometry;
    csim_real angle;
    int i;
    if (s->edge < 0) {
        if (csimi_sample_axis(s, g->half_height - g->radius)) return true;
        s->edge = 0;
        s->next = 0;
        s->along = csimi_imax(8, csimi_pieces(2 * CSIMI_PI * g->radius, s->spacing, 4 * CSIMI_EDGE_SAMPLES));
    }
    if (s->next >= 2 * s->along) return false;
    i = s->next++;
    angle = 2 * CSIMI_PI * (csim_real)(i % s->along) / (csim_real)s->along;
    s->number = 4 * CSIMI_EDGE_SAMPLES + 1 + i;
    s->radius = 0;
    s->point = csim_v3(g->radius * CSIMI_COS(angle), g->radius * CSIMI_SIN(angle),
                       i < s->along ? -g->half_height : g->half_height);
    return true;
}

static bool csimi_sample_mesh(csimi_sampler *s) {
    const csim_field *f = s->geometry->field;
    if (s->next >= f->samples) return false;
    s->begins = s->next % CSIMI_SAMPLE_BLOCK == 0;
    if (s->begins) s->middle = csimi_sample_block(f, s->next / CSIMI_SAMPLE_BLOCK, &s->ball);
    s->number = s->next;
    s->point = csimi_sample_of(f, s->next++);
    return true;
}

CSIMI_FN void csimi_sampler_pass(csimi_sampler *s) {
    s->next = (s->next + CSIMI_SAMPLE_BLOCK - 1) / CSIMI_SAMPLE_BLOCK * CSIMI_SAMPLE_BLOCK;
}

/* Nodes from[] <= node < end[] that stand out, row by row: what is flat or hollow the other shape's own points find. */
static bool csimi_sample_heights(csimi_sampler *s) {
    const csim_field *f = s->geometry->field;
    const int across = s->end[0] - s->from[0];
    int i, j;
    do {
        if (across <= 0 || s->next >= across * (s->end[1] - s->from[1])) return false;
        i = s->from[0] + s->next % across;
        j = s->from[1] + s->next / across;
        s->next++;
    } while (csimi_height_node(f, i, j).z < s->least || !csimi_height_peak(f, i, j));
    s->number = j * f->n[0] + i;
    s->point = csimi_height_node(f, i, j);
    return true;
}

CSIMI_FN void csimi_sampler_limit(csimi_sampler *s, csim_vec3 lower, csim_vec3 upper) {
    const csim_field *f = s->geometry->field;
    csim_real low[3], high[3];
    int k;
    if (s->geometry->kind != CSIM_SHAPE_HEIGHTS) return;
    csimi_store3(low, lower);
    csimi_store3(high, upper);
    for (k = 0; k < 2; k++) {
        const csim_real cell = (csim_real)f->cell;
        s->from[k] = csimi_cut(low[k] / cell, 0, f->n[k]);
        s->from[k] += cell * (csim_real)s->from[k] < low[k]; /* up to the first within */
        s->end[k] = csimi_cut(high[k] / cell + 1, 0, f->n[k]);
    }
}

CSIMI_FN bool csimi_sampler_next(csimi_sampler *s) {
    switch (s->geometry->kind) {
    case CSIM_SHAPE_SPHERE: return csimi_sample_axis(s, 0);
    case CSIM_SHAPE_CAPSULE: return csimi_sample_axis(s, s->geometry->half_height);
#ifndef CONDSIM_NO_CYLINDERS
    case CSIM_SHAPE_CYLINDER: return csimi_sample_cylinder(s);
#else
    case CSIM_SHAPE_CYLINDER: break;
#endif
    case CSIM_SHAPE_BOX:
    case CSIM_SHAPE_HULL: return csimi_sample_polytope(s);
    case CSIM_SHAPE_MESH: return csimi_sample_mesh(s);
    case CSIM_SHAPE_HEIGHTS: return csimi_sample_heights(s);
    case CSIM_SHAPE_TRIANGLES:
    case CSIM_SHAPE_HALF_SPACE:
    case CSIM_SHAPE_COUNT_: break;
    }
    return false;
}
