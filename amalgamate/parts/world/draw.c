/* world/draw: lines, triangles and points that show a world. */
#include "private.h"

#define CSIMI_ROUND 16 /* pieces of a circle */

CSIM_API csim_draw csim_default_draw(void) {
    static const uint32_t colour[CSIM_DRAW_KIND_COUNT_] = {0xb0c4de, 0x8fbc8f, 0xffa500, 0xff4500, 0xffff00,
                                                           0xff00ff, 0x708090, 0xffffff, 0x00ffff, 0x506070};
    csim_draw d;
    CSIMI_MEMSET(&d, 0, sizeof d);
    d.kinds = (1u << CSIM_DRAW_KIND_COUNT_) - 1u - (1u << CSIM_DRAW_BOUNDS) - (1u << CSIM_DRAW_ISLANDS);
    d.size = CSIM_R(0.2);
    d.per_impulse = CSIM_R(0.1);
    d.ground = 10;
    d.within = CSIM_R(1e9);
    d.triangles = 10000;
    CSIMI_MEMCPY(d.colour, colour, sizeof colour);
    d.guard = CSIMI_GUARD;
    return d;
}

typedef struct csimi_pen {
    const csim_world *w;
    const csim_draw *d;
    csim_draw_kind kind;
    uint32_t colour;
} csimi_pen;

static void csimi_draw_as(csimi_pen *p, csim_draw_kind kind) {
    p->kind = kind;
    p->colour = p->d->colour[kind];
}

static bool csimi_draw_shows(const csimi_pen *p, csim_draw_kind kind) { return (p->d->kinds >> kind & 1u) != 0; }

static void csimi_draw_dot(const csimi_pen *p, csim_vec3 at) {
    if (p->d->point) p->d->point(p->d->user, p->kind, p->colour, at);
}

static void csimi_draw_line(const csimi_pen *p, csim_vec3 from, csim_vec3 to) {
    if (p->d->line) p->d->line(p->d->user, p->kind, p->colour, from, to);
}

static void csimi_draw_line_in(const csimi_pen *p, csim_pose at, csim_vec3 from, csim_vec3 to) {
    csimi_draw_line(p, csim_pose_point(at, from), csim_pose_point(at, to));
}

/* c + cos u + sin v from one angle to another. */
static void csimi_draw_arc(const csimi_pen *p, csim_vec3 c, csim_vec3 u, csim_vec3 v, csim_real from, csim_real to) {
    csim_vec3 last = csim_v3(0, 0, 0);
    int i;
    for (i = 0; i <= CSIMI_ROUND; i++) {
        const csim_real t = from + (to - from) * (csim_real)i / CSIMI_ROUND;
        const csim_vec3 x = csim_madd(csim_madd(c, CSIMI_COS(t), u), CSIMI_SIN(t), v);
        if (i > 0) csimi_draw_line(p, last, x);
        last = x;
    }
}

static void csimi_draw_ring(const csimi_pen *p, csim_pose at, csim_vec3 c, csim_vec3 u, csim_vec3 v) {
    csimi_draw_arc(p, csim_pose_point(at, c), csim_rotate(at.rotation, u), csim_rotate(at.rotation, v), 0,
                   2 * CSIMI_PI);
}

static void csimi_draw_box(const csimi_pen *p, csim_pose at, csim_vec3 low, csim_vec3 high) {
    int i, k;
    for (i = 0; i < 8; i++)
        for (k = 0; k < 3; k++) {
            csim_vec3 a = csim_v3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z), b = a;
            if (i >> k & 1) continue;
            if (k == 0) b.x = high.x;
            if (k == 1) b.y = high.y;
            if (k == 2) b.z = high.z;
            csimi_draw_line_in(p, at, a, b);
        }
}

static void csimi_draw_axes(const csimi_pen *p, csim_pose at, csim_real size) {
    csimi_draw_line_in(p, at, csim_v3(0, 0, 0), csim_v3(size, 0, 0));
    csimi_draw_line_in(p, at, csim_v3(0, 0, 0), csim_v3(0, size, 0));
    csimi_draw_line_in(p, at, csim_v3(0, 0, 0), csim_v3(0, 0, size));
}

/* ---- bodies */

/* Two rings and four lines; domes: the ends of a capsule. */
static void csimi_draw_tube(const csimi_pen *p, csim_pose at, csim_real r, csim_real half, bool domes) {
    const csim_vec3 x = csim_v3(r, 0, 0), y = csim_v3(0, r, 0);
    int end, k;
    for (end = -1; end <= 1; end += 2) {
        const csim_vec3 c = csim_v3(0, 0, (csim_real)end * half), up = csim_v3(0, 0, (csim_real)end * r);
        csimi_draw_ring(p, at, c, x, y);
        for (k = 0; k < 2 && domes; k++)
            csimi_draw_arc(p, csim_pose_point(at, c), csim_rotate(at.rotation, k ? y : x),
                           csim_rotate(at.rotation, up), 0, CSIMI_PI);
        for (k = 0; k < 2; k++) {
            const csim_vec3 side = csim_scale((csim_real)end, k ? y : x);
            csimi_draw_line_in(p, at, csim_add(side, csim_v3(0, 0, -half)), csim_add(side, csim_v3(0, 0, half)));
        }
    }
}

static void csimi_draw_hull(const csimi_pen *p, csim_pose at, const csim_hull_data *h) {
    int i;
    for (i = 0; i < h->edge_count; i++)
        csimi_draw_line_in(p, at, csimi_load3(h->vertex + 3 * h->edge_vertex[2 * i]),
                      csimi_load3(h->vertex + 3 * h->edge_vertex[2 * i + 1]));
}

static bool csimi_triangle_in(const csimi_triangles *t, int place, csim_vec3 low, csim_vec3 high) {
    csim_vec3 a = csimi_triangle_corner(t, place, 0), b = a;
    int k;
    for (k = 1; k < 3; k++) {
        const csim_vec3 x = csimi_triangle_corner(t, place, k);
        a = csim_v3(csimi_min(a.x, x.x), csimi_min(a.y, x.y), csimi_min(a.z, x.z));
        b = csim_v3(csimi_max(b.x, x.x), csimi_max(b.y, x.y), csimi_max(b.z, x.z));
    }
    return a.x <= high.x && a.y <= high.y && a.z <= high.z && b.x >= low.x && b.y >= low.y && b.z >= low.z;
}

/* Edges of the triangles of a level whose bounds meet a cube, each once. */
static CSIMI_NOINLINE void csimi_draw_level(const csimi_pen *p, const csim_field *f, csim_pose at) {
    const csimi_triangles t = csimi_triangles_of(f);
    const csim_real r = p->d->within;
    const csim_vec3 c = csim_pose_local(at, p->d->around), low = csim_sub(c, csim_v3(r, r, r)),
                    high = csim_add(c, csim_v3(r, r, r));
    csimi_surface_walk walk = csimi_surface_walk_in(&t.surface, low, high);
    int place, k, count = 0;
    while (count < p->d->triangles && (place = csimi_surface_walk_next(&walk)) >= 0) {
        if (!csimi_triangle_in(&t, place, low, high)) continue;
        count++;
        for (k = 0; k < 3; k++) {
            const int other = t.beyond[3 * place + k];
            if (other >= 0 && other < 3 * place && csimi_triangle_in(&t, other / 3, low, high)) continue;
            csimi_draw_line_in(p, at, csimi_triangle_corner(&t, place, k),
                               csimi_triangle_corner(&t, place, (k + 1) % 3));
        }
    }
}

/* ---- grids: what of them lies in the cube around a point, along their axes */

/* Cells [first, last) of a grid along its axes; node 0 at lower. */
static void csimi_drawn_cells(const csimi_pen *p, csim_pose at, const csim_field *f, const double *lower, int axes,
                              int *first, int *last) {
    csim_real c[3];
    int k;
    csimi_store3(c, csim_pose_local(at, p->d->around));
    for (k = 0; k < axes; k++) {
        const csim_real from = (c[k] - p->d->within - (csim_real)lower[k]) / (csim_real)f->cell;
        const csim_real to = (c[k] + p->d->within - (csim_real)lower[k]) / (csim_real)f->cell;
        first[k] = csimi_cut(from, 0, f->n[k] - 1);
        last[k] = csimi_cut(to + 1, 0, f->n[k] - 1);
    }
}

/* The edges of the triangles of a height field, each once. */
static CSIMI_NOINLINE void csimi_draw_heights(const csimi_pen *p, const csim_field *f, csim_pose at) {
    static const double origin[2] = {0, 0};
    int first[2], last[2], i, j, left = p->d->triangles / 2;
    csimi_drawn_cells(p, at, f, origin, 2, first, last);
    for (j = first[1]; j < last[1]; j++)
        for (i = first[0]; i < last[0] && left > 0; i++, left--) {
            const csim_vec3 x = csimi_height_node(f, i, j), y = csimi_height_node(f, i + 1, j),
                            z = csimi_height_node(f, i, j + 1), end = csimi_height_node(f, i + 1, j + 1);
            csimi_draw_line_in(p, at, x, y);
            csimi_draw_line_in(p, at, x, z);
            csimi_draw_line_in(p, at, x, end);
            if (i + 1 == last[0]) csimi_draw_line_in(p, at, y, end);
            if (j + 1 == last[1]) csimi_draw_line_in(p, at, z, end);
        }
}

/* The middle of where the distance is 0 on the edges of a cell; false: it is nowhere. */
static bool csimi_grid_point(const csim_field *f, const int *cell, csim_vec3 *point) {
    const float *value = csimi_field_value(f);
    csim_real sum[3] = {0, 0, 0}, count = 0;
    int edge, k;
    for (edge = 0; edge < 12; edge++) {
        const int axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
        int n[3];
        size_t a, b;
        csim_real d[2];
        for (k = 0; k < 3; k++) n[k] = cell[k];
        n[u] += edge & 1, n[v] += edge >> 1 & 1;
        a = ((size_t)n[2] * (size_t)f->n[1] + (size_t)n[1]) * (size_t)f->n[0] + (size_t)n[0];
        b = a + (axis == 0 ? 1 : axis == 1 ? (size_t)f->n[0] : (size_t)f->n[0] * (size_t)f->n[1]);
        d[0] = (csim_real)value[a], d[1] = (csim_real)value[b];
        if ((d[0] < 0) == (d[1] < 0)) continue;
        for (k = 0; k < 3; k++) sum[k] += (csim_real)n[k] + (k == axis ? d[0] / (d[0] - d[1]) : 0);
        count += 1;
    }
    if (!(count > 0)) return false;
    for (k = 0; k < 3; k++) sum[k] = (csim_real)f->lower[k] + (csim_real)f->cell * sum[k] / count;
    *point = csimi_load3(sum);
    return true;
}

/* Whether the surface goes through the face that a cell shares with the one before it along an axis. */
static bool csimi_grid_crosses(const csim_field *f, const int *cell, int axis) {
    const float *value = csimi_field_value(f);
    int k, below = 0;
    for (k = 0; k < 4; k++) {
        int n[3];
        n[axis] = cell[axis];
        n[(axis + 1) % 3] = cell[(axis + 1) % 3] + (k & 1);
        n[(axis + 2) % 3] = cell[(axis + 2) % 3] + (k >> 1);
        below += value[((size_t)n[2] * (size_t)f->n[1] + (size_t)n[1]) * (size_t)f->n[0] + (size_t)n[0]] < 0;
    }
    return below > 0 && below < 4;
}

/* A net over the surface of a mesh that is a grid of distances: the middles of its cells, joined through their faces.
   Every cell has about two triangles. */
static CSIMI_NOINLINE void csimi_draw_grid(const csimi_pen *p, const csim_field *f, csim_pose at) {
    int first[3], last[3], cell[3], k, left = p->d->triangles / 2;
    csim_vec3 x, y;
    csimi_drawn_cells(p, at, f, f->lower, 3, first, last);
    for (cell[2] = first[2]; cell[2] < last[2]; cell[2]++)
        for (cell[1] = first[1]; cell[1] < last[1]; cell[1]++)
            for (cell[0] = first[0]; cell[0] < last[0] && left > 0; cell[0]++) {
                if (!csimi_grid_point(f, cell, &x)) continue;
                left--;
                for (k = 0; k < 3; k++) {
                    int before[3];
                    CSIMI_MEMCPY(before, cell, sizeof before);
                    if (--before[k] < first[k] || !csimi_grid_crosses(f, cell, k)) continue;
                    if (csimi_grid_point(f, before, &y)) csimi_draw_line_in(p, at, y, x);
                }
            }
}

static CSIMI_NOINLINE void csimi_draw_shape(const csimi_pen *p, const csim_geometry *g, csim_pose at) {
    const csim_real r = g->radius, far = p->d->ground;
    switch (g->kind) {
    case CSIM_SHAPE_BOX: csimi_draw_box(p, at, csim_scale(-1, g->half), g->half); break;
    case CSIM_SHAPE_SPHERE:
        csimi_draw_ring(p, at, csim_v3(0, 0, 0), csim_v3(r, 0, 0), csim_v3(0, r, 0));
        csimi_draw_ring(p, at, csim_v3(0, 0, 0), csim_v3(0, r, 0), csim_v3(0, 0, r));
        csimi_draw_ring(p, at, csim_v3(0, 0, 0), csim_v3(0, 0, r), csim_v3(r, 0, 0));
        break;
    case CSIM_SHAPE_CAPSULE: csimi_draw_tube(p, at, r, g->half_height, true); break;
    case CSIM_SHAPE_CYLINDER: csimi_draw_tube(p, at, r, g->half_height, false); break;
    case CSIM_SHAPE_HULL: csimi_draw_hull(p, at, p->w->store.hull + g->hull); break;
    case CSIM_SHAPE_HALF_SPACE: /* a square, its diagonals, and which side is out */
        csimi_draw_box(p, at, csim_v3(-far, -far, 0), csim_v3(far, far, 0));
        csimi_draw_line_in(p, at, csim_v3(-far, -far, 0), csim_v3(far, far, 0));
        csimi_draw_line_in(p, at, csim_v3(-far, far, 0), csim_v3(far, -far, 0));
        csimi_draw_line_in(p, at, csim_v3(0, 0, 0), csim_v3(0, 0, p->d->size));
        break;
    case CSIM_SHAPE_TRIANGLES: csimi_draw_level(p, g->field, at); break;
    case CSIM_SHAPE_MESH: csimi_draw_grid(p, g->field, at); break;
    case CSIM_SHAPE_HEIGHTS: csimi_draw_heights(p, g->field, at); break;
    case CSIM_SHAPE_COUNT_:
    default: break;
    }
}

static csim_pose csimi_drawn_pose(const csimi_store *s, int shape) {
    return csim_pose_mul(csimi_shape_pose(s, &s->state, shape), s->shape[shape].local);
}

static void csimi_draw_body(const csimi_pen *p, const csimi_body *b) {
    const csimi_store *s = &p->w->store;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        if (!s->skin[i].gone) csimi_draw_shape(p, s->shape + i, csimi_drawn_pose(s, i));
    for (i = b->first_frame; i < b->first_frame + b->frame_count; i++)
        csimi_draw_line(p, csimi_load3(s->state.x + 3 * (size_t)s->state.edge_node[2 * i]),
                   csimi_load3(s->state.x + 3 * (size_t)s->state.edge_node[2 * i + 1]));
    if (b->kind == CSIM_PARTICLE) csimi_draw_dot(p, csimi_load3(s->state.x + 3 * (size_t)b->first_node));
}

static void csimi_draw_surface(const csimi_pen *p, const csimi_body *b) {
    const csimi_store *s = &p->w->store;
    int i, k;
    for (i = b->first_triangle; i < b->first_triangle + b->triangle_count; i++) {
        csim_vec3 x[3];
        for (k = 0; k < 3; k++) x[k] = csimi_load3(s->look.x + 3 * (size_t)(b->first_surface + s->face[3 * i + k]));
        if (p->d->triangle) p->d->triangle(p->d->user, p->kind, p->colour, x[0], x[1], x[2]);
    }
}

static CSIMI_NOINLINE void csimi_draw_bounds(const csimi_pen *p, int slot) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    const csim_pose world = csim_pose_identity();
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        const csim_geometry *g = s->shape + i;
        csimi_convex c;
        csim_vec3 low, high;
        if (csimi_only_static(g->kind) || s->skin[i].gone) continue;
        if (g->kind == CSIM_SHAPE_MESH) {
            const csim_vec3 at = csim_pose_point(csimi_drawn_pose(s, i), g->centre);
            const csim_vec3 r = csim_v3(g->bound, g->bound, g->bound);
            low = csim_sub(at, r), high = csim_add(at, r);
        } else {
            csimi_convex_of(&c, g, s->hull, csimi_drawn_pose(s, i));
            csimi_convex_bounds(&c, &low, &high);
        }
        csimi_draw_box(p, world, low, high);
    }
    if (b->triangle_count > 0) {
        const csimi_surface surface = csimi_look_surface(s, slot);
        csim_vec3 low, high;
        csimi_surface_bounds(&surface, &low, &high);
        csimi_draw_box(p, world, low, high);
    }
}

/* ---- joints */

#ifndef CONDSIM_NO_JOINTS
/* Limits of a joint with settings of axes: of the pushes as ways, of the twist as an arc with a hand, of the cone. */
static CSIMI_NOINLINE void csimi_draw_limits(csimi_pen *p, const csimi_joint *j, const csimi_axes *ax) {
    const csimi_axes_pose at = csimi_axes_at(&p->w->store.state, j, ax);
    const csim_real size = p->d->size;
    const csim_vec3 x = csim_rotate(at.at.of, csim_v3(1, 0, 0));
    int i;
    csimi_draw_as(p, CSIM_DRAW_LIMITS);
    for (i = 0; i < 3; i++)
        if (ax->axis[i].limited)
            csimi_draw_line(p, csim_madd(at.at.b, ax->axis[i].lower, at.push[i]),
                       csim_madd(at.at.b, ax->axis[i].upper, at.push[i]));
    if (!csimi_axes_turn(j)) return;
    if (ax->axis[CSIM_AXIS_TWIST].limited) {
        const csim_real q = at.q[CSIM_AXIS_TWIST];
        csimi_draw_arc(p, at.at.b, csim_scale(size, at.push[1]), csim_scale(size, at.push[2]),
                  ax->axis[CSIM_AXIS_TWIST].lower, ax->axis[CSIM_AXIS_TWIST].upper);
        csimi_draw_line(p, at.at.b, csim_madd(csim_madd(at.at.b, size * CSIMI_COS(q), at.push[1]), size * CSIMI_SIN(q),
                                         at.push[2]));
    }
    if (ax->cone[0] > 0) {
        csim_vec3 last = csim_v3(0, 0, 0);
        for (i = 0; i <= CSIMI_ROUND; i++) {
            const csim_real t = 2 * CSIMI_PI * (csim_real)i / CSIMI_ROUND;
            const csim_quat swing = csim_quat_exp(csim_v3(0, ax->cone[0] * CSIMI_COS(t), ax->cone[1] * CSIMI_SIN(t)));
            const csim_vec3 rim = csim_madd(
                at.at.b, size, csim_rotate(csim_quat_mul(at.at.base, swing), csim_v3(1, 0, 0)));
            if (i > 0) csimi_draw_line(p, last, rim);
            last = rim;
        }
        csimi_draw_line(p, at.at.b, csim_madd(at.at.b, size, x));
    }
}

static CSIMI_NOINLINE void csimi_draw_joint(csimi_pen *p, const csimi_joint *j) {
    const csimi_joint_pose at = csimi_joint_at(&p->w->store.state, j);
    csim_pose base;
    if (j->broken || j->kind == CSIM_JOINT_GEAR) return;
    base.position = at.b;
    base.rotation = at.base;
    if (csimi_draw_shows(p, CSIM_DRAW_JOINTS)) {
        csimi_draw_as(p, CSIM_DRAW_JOINTS);
        csimi_draw_dot(p, at.a);
        csimi_draw_dot(p, at.b);
        csimi_draw_line(p, at.a, at.b);
        if (csimi_joint_has_coordinate(j->kind))
            csimi_draw_line_in(p, base, csim_v3(0, 0, 0), csim_v3(p->d->size, 0, 0));
        else if (j->axes >= 0 && csimi_axes_turn(j))
            csimi_draw_axes(p, base, p->d->size);
    }
    if (csimi_draw_shows(p, CSIM_DRAW_LIMITS) && j->axes >= 0) csimi_draw_limits(p, j, p->w->store.axes + j->axes);
    if (csimi_draw_shows(p, CSIM_DRAW_LIMITS) && j->axes < 0 && j->limited) {
        csimi_draw_as(p, CSIM_DRAW_LIMITS);
        if (j->kind == CSIM_JOINT_SLIDER)
            csimi_draw_line_in(p, base, csim_v3(j->lower, 0, 0), csim_v3(j->upper, 0, 0));
        else
            csimi_draw_arc(p, at.b, csim_rotate(at.base, csim_v3(0, p->d->size, 0)),
                      csim_rotate(at.base, csim_v3(0, 0, p->d->size)), j->lower, j->upper);
    }
}

#else
static void csimi_draw_joint(csimi_pen *p, const csimi_joint *j) { (void)p, (void)j; }
#endif

static void csimi_draw_links(csimi_pen *p) {
    const csimi_store *s = &p->w->store;
    int i;
    csimi_draw_as(p, CSIM_DRAW_JOINTS);
    for (i = 0; i < s->count.springs && csimi_draw_shows(p, CSIM_DRAW_JOINTS); i++)
        if (!s->link[s->spring_link[i]].broken)
            csimi_draw_line(p, csimi_place_point(&s->state, s->state.spring + 2 * i),
                            csimi_place_point(&s->state, s->state.spring + 2 * i + 1));
    for (i = 0; i < s->count.joints; i++) csimi_draw_joint(p, s->joint + i);
}

/* ---- contacts, islands */

static void csimi_draw_contacts(csimi_pen *p) {
    const csimi_store *s = &p->w->store;
    int i;
    for (i = 0; i < s->count.contacts; i++) {
        const csim_contact_info *c = s->contact + i;
        if (csimi_draw_shows(p, CSIM_DRAW_CONTACTS)) {
            csimi_draw_as(p, CSIM_DRAW_CONTACTS);
            csimi_draw_dot(p, c->point);
            csimi_draw_line(p, c->point, csim_madd(c->point, p->d->size, c->normal));
        }
        if (csimi_draw_shows(p, CSIM_DRAW_IMPULSES) && c->state != CSIM_CONTACT_OPEN) {
            csimi_draw_as(p, CSIM_DRAW_IMPULSES);
            csimi_draw_line(p, c->point, csim_madd(c->point, p->d->per_impulse, c->impulse));
        }
    }
}

static int csimi_first_of(int *group, int i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
}

/* The lower slot leads. */
static void csimi_join_drawn(const csimi_store *s, int *group, int a, int b) {
    if (a < 0 || b < 0 || s->body[a].motion != CSIM_DYNAMIC || s->body[b].motion != CSIM_DYNAMIC) return;
    a = csimi_first_of(group, a);
    b = csimi_first_of(group, b);
    group[csimi_imax(a, b)] = csimi_imin(a, b);
}

/* Islands of what touched in the last step and of what links hold: the first slot of each into islands. */
static void csimi_find_drawn_islands(const csimi_store *s, int *group) {
    int i;
    for (i = 0; i < s->count.bodies; i++) group[i] = i;
    for (i = 0; i < s->count.contacts; i++)
        if (s->contact[i].state != CSIM_CONTACT_OPEN)
            csimi_join_drawn(s, group, (int)s->contact[i].body_a.index1 - 1, (int)s->contact[i].body_b.index1 - 1);
    for (i = 0; i < s->count.links; i++) {
        const csimi_link *l = s->link + i;
        if (!l->alive || l->kind == CSIMI_EXCLUSION || csimi_link_broken(s, l)) continue;
        csimi_join_drawn(s, group, l->body[0], l->body[1]);
    }
    for (i = 0; i < s->count.bodies; i++) group[i] = csimi_first_of(group, i);
}

static csim_vec3 csimi_drawn_place(const csimi_store *s, int slot) {
    const csimi_body *b = s->body + slot;
    if (b->rigid >= 0) return csimi_load3(s->state.com + 3 * (size_t)b->rigid);
    if (b->node_count > 0) return csimi_load3(s->state.x + 3 * (size_t)b->first_node);
    return csimi_body_pose(s, &s->state, slot).position;
}

/* A colour of an island's own: light, and far from those of its neighbours in number. */
static uint32_t csimi_island_colour(int leader) {
    const uint32_t x = (uint32_t)(leader + 1) * 2654435761u;
    return 0x606060u + (x & 0x9f9f9fu);
}

/* ---- all of it */

static CSIMI_NOINLINE void csimi_draw_one(csimi_pen *p, int slot) {
    const csimi_store *s = &p->w->store;
    const csimi_body *b = s->body + slot;
    const bool grouped = csimi_draw_shows(p, CSIM_DRAW_ISLANDS) && b->motion == CSIM_DYNAMIC;
    int kind;
    for (kind = CSIM_DRAW_SHAPES; kind < CSIM_DRAW_KIND_COUNT_; kind++) {
        if (!csimi_draw_shows(p, (csim_draw_kind)kind)) continue;
        csimi_draw_as(p, (csim_draw_kind)kind);
        if (grouped) p->colour = csimi_island_colour(p->d->islands[slot]);
#ifndef CONDSIM_NO_SLEEP
        if (b->rest.asleep && csimi_draw_shows(p, CSIM_DRAW_SLEEP)) p->colour = p->d->colour[CSIM_DRAW_SLEEP];
#endif
        if (kind == CSIM_DRAW_SHAPES) csimi_draw_body(p, b);
        if (kind == CSIM_DRAW_SURFACES) csimi_draw_surface(p, b);
        if (kind == CSIM_DRAW_BOUNDS) csimi_draw_bounds(p, slot);
        if (kind == CSIM_DRAW_CENTRES && b->rigid >= 0) {
            csim_pose at = csimi_body_pose(s, &s->state, slot);
            at.position = csimi_drawn_place(s, slot);
            csimi_draw_axes(p, at, p->d->size);
        }
        if (kind == CSIM_DRAW_ISLANDS && grouped && p->d->islands[slot] != slot)
            csimi_draw_line(p, csimi_drawn_place(s, slot), csimi_drawn_place(s, p->d->islands[slot]));
    }
}

CSIM_API csim_status csim_world_draw(const csim_world *w, const csim_draw *d) {
    csimi_pen pen;
    int i;
    if (!w || !d) return CSIM_NULL_ARGUMENT;
    if (d->guard != CSIMI_GUARD) return CSIM_DEF_NOT_INITIALISED;
    if (w->locked) return CSIM_LOCKED;
    if (!(d->size >= 0 && d->size <= CSIM_R(1e9) && d->ground >= 0 && d->ground <= CSIM_R(1e9)) ||
        !(d->per_impulse >= 0 && d->per_impulse <= CSIM_R(1e9)) || !(d->within >= 0 && d->within <= CSIM_R(1e9)) ||
        !(csim_length(d->around) <= CSIM_R(1e9)) || d->triangles < 0)
        return CSIM_OUT_OF_RANGE;
    if ((d->kinds >> CSIM_DRAW_ISLANDS & 1u) && (!d->islands || d->island_count < w->store.count.bodies))
        return d->islands ? CSIM_CAPACITY : CSIM_NULL_ARGUMENT;
    pen.w = w;
    pen.d = d;
    if (csimi_draw_shows(&pen, CSIM_DRAW_ISLANDS)) csimi_find_drawn_islands(&w->store, d->islands);
    for (i = 0; i < w->live_bodies; i++) csimi_draw_one(&pen, w->store.body_list[i]);
    csimi_draw_links(&pen);
    csimi_draw_contacts(&pen);
    return CSIM_OK;
}

#undef CSIMI_ROUND
