/* step/points: points against shapes, particles and surfaces: nodes of particles and solids, samples of shapes. */
#include "private.h"

/* ---- probes: points with a radius, against volumes */

typedef struct csimi_probe {
    int body, node; /* slot; point node, or -1: a point under a shape */
    int shape;
    int self;         /* vertex against its own solid: its place in the surface, else -1 */
    bool met;         /* vertices of the other look for this one's volume: nearest corners are their contacts */
    uint64_t key;     /* names it */
    csim_vec3 x, v;   /* centre */
    csim_real radius; /* with its thickness */
    csim_real reach;  /* margins of both objects */
    csim_real push;   /* their parts without velocity */
} csimi_probe;

/* Whether it is a vertex of cloth. */
CSIMI_KNOWN bool csimi_probe_cloth(const csimi_store *s, const csimi_probe *p) {
#ifdef CONDSIM_NO_CLOTH
    return (void)s, (void)p, false;
#else
    return s->body[p->body].kind == CSIM_BODY_CLOTH;
#endif
}

/* Where the probe touches along the normal, as a place: a node acts at itself, a rigid body at its surface. */
static void csimi_probe_place(const csimi_store *s, const csimi_probe *p, csimi_found_contact *c) {
    /* of a rigid sample: the shape's own radius */
    csim_real own = p->radius - csimi_surface_def_of(s, p->body, p->shape)->thickness;
    c->meet = p->node >= 0 ? p->x : csim_madd(p->x, -own, c->normal);
    c->a = p->node >= 0 ? csimi_place_follow(&s->state, csimi_place_node(p->node))
                        : csimi_shape_place(s, p->shape, c->meet);
    if (p->node < 0) c->radius -= own; /* it is at the surface of the body: only thicknesses are left */
    c->part_a = p->shape;
}

/* The plane that a point x meets which moves by `way` past a convex shape: where its path comes within r, or nearest to
   the shape if that is within r + push. Any plane that touches the shape keeps the point out, but that at the start of
   a long way, around a small shape, stands across ways that never lead there: vertices of a sheet would hold what flies
   between them. False: it passes by. Distance and slope are convex along the path. */
static bool csimi_meets_on_its_way(const csim_geometry *g, const csim_hull_data *hulls, csim_pose pose, csim_vec3 x,
                                   csim_vec3 way, csim_real r, csim_real push, csim_vec3 *n, csim_real *gap) {
    csim_real low = 0, high = 1, t = 1, distance;
    uint32_t zone;
    int k;
    if (g->field || !(*gap > push)) return true; /* no convex distance; or near */
    /* bisection for the first share of the way at which the point is within r, or nearest */
    for (k = 0; k < 24 && high - low > CSIM_R(1e-6); k++) {
        distance = csim_shape_distance(g, hulls, pose, csim_madd(x, t, way), n, &zone);
        if (distance > r && csim_dot(*n, way) < 0)
            low = t;
        else
            high = t;
        t = (low + high) / 2;
    }
    distance = csim_shape_distance(g, hulls, pose, csim_madd(x, low, way), n, &zone);
    /* the same plane, with the gap that the point has to it at the start of the step */
    *gap = distance - r - low * csim_dot(*n, way);
    return distance <= r + push;
}

/* How a node moves against what is at b there, in this step. */
static csim_vec3 csimi_probe_way(const csimi_detector *d, const csimi_probe *p, csimi_place b) {
    const csim_vec3 v = csim_sub(p->v, csimi_place_velocity(&d->world->store.state, &b, p->x));
    return csim_scale(d->ahead * d->frame->h, v);
}

/* A node against a level of triangles: planes around it, named by which way they look. */
static CSIMI_NOINLINE void csimi_probe_triangles(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    enum { FEET = 8 };
    csimi_store *s = &d->world->store;
    const csim_real r = p->radius + csimi_thickness_of(s, b);
    csimi_foot foot[FEET];
    const int count = csimi_triangles_feet(s->shape[b->item].field, csim_pose_local(b->at, p->x), p->reach + r, foot,
                                           FEET);
    int i, k;
    for (i = 0; i < count; i++) {
        const int way = csimi_touch_way(foot[i].normal);
        const csim_vec3 n = csim_rotate(b->at.rotation, foot[i].normal);
        csimi_found_contact *c;
        int alike = 0;
        for (k = 0; k < i; k++) alike += csimi_touch_way(foot[k].normal) == way; /* so that ids differ */
        c = csimi_next_found(d, p->body, b->body,
                             csimi_mix64(p->key, csimi_mix64(csimi_shape_key(s, b), (uint64_t)(FEET * way + alike))));
        if (!c) continue;
        c->part_b = b->item;
        c->radius = r;
        c->point_a = csim_madd(p->x, -foot[i].distance, n);
        c->normal = n;
        c->gap = foot[i].distance - r;
        csimi_probe_place(s, p, c);
        c->b = csimi_shape_place(s, b->item, c->meet);
    }
}

/* The plane in which a node that comes from afar meets a shape: the nearest one, but where that would turn it aside and
   its way passes by, the one it passes. Sheets, of which every vertex would have one, meet all in the way's plane, and
   those they pass by not at all: false. */
static bool csimi_probe_ahead(const csimi_detector *d, const csimi_probe *p, const csimi_object *b, csim_pose pose,
                              csim_real r, csim_vec3 *n, csim_real *gap) {
    const csimi_store *s = &d->world->store;
    const bool sheet = csimi_probe_cloth(s, p);
    csim_vec3 way, ahead = *n;
    csim_real off = *gap;
    bool meets;
    if (!(*gap > p->push)) return true; /* near enough for the nearest plane to be that of the contact */
    way = csimi_probe_way(d, p, csimi_shape_place(s, b->item, p->x));
    if (!(*gap + csim_dot(*n, way) < p->push)) return !sheet || s->shape[b->item].field; /* as distance is convex */
    meets = csimi_meets_on_its_way(s->shape + b->item, s->hull, pose, p->x, way, r, p->push, &ahead, &off);
    if (sheet || !meets) {
        *n = ahead;
        *gap = off;
    }
    return meets || !sheet;
}

/* A node against a shape. The feature is left out of the id: a node has one contact with a shape, whichever face is
   nearest. */
static void csimi_probe_shape(csimi_detector *d, const csimi_probe *p, const csimi_object *b, csim_pose pose) {
    csimi_store *s = &d->world->store;
    csim_real r = p->radius + csimi_thickness_of(s, b), gap;
    csim_vec3 n;
    uint32_t feature = 0;
    csimi_found_contact *c;
    /* a level bends both ways: one nearest plane would not hold a node in a corner of it */
    if (s->shape[b->item].kind == CSIM_SHAPE_TRIANGLES) {
        csimi_probe_triangles(d, p, b);
        return;
    }
    gap = csim_shape_distance(s->shape + b->item, s->hull, pose, p->x, &n, &feature) - r;
    if (!(gap <= p->reach) || !csimi_probe_ahead(d, p, b, pose, r, &n, &gap)) return;
    if (!(c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_shape_key(s, b))))) return;
    c->shape_b = c->part_b = b->item; /* shape_b: penetration is measured by the shape, not by this plane */
    c->radius = r;
    c->point_a = csim_madd(p->x, -(gap + r), n);
    c->normal = n;
    c->gap = gap;
    csimi_probe_place(s, p, c);
    c->b = csimi_shape_place(s, b->item, c->meet);
}

/* Node against particle, both as spheres. */
static void csimi_probe_particle(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    csim_real rb = B->radius + B->surface.thickness;
    csim_vec3 xb = csimi_load3(s->state.x + 3 * b->item), n = csim_sub(p->x, xb);
    csim_real distance = csim_length(n), gap = distance - p->radius - rb;
    csimi_found_contact *c;
    if (!(p->radius + rb > 0) || !(gap <= p->reach)) return; /* points without extent never touch */
    if (csimi_probe_cloth(s, p) && !(B->radius > 0)) return; /* it meets the corners by its side */
    n = distance > 0 ? csim_scale(1 / distance, n) : csim_v3(0, 0, 1);
    if (csimi_probe_cloth(s, p)) {
        const csim_geometry ball = csimi_ball(0);
        csim_pose pose = csim_pose_identity();
        pose.position = xb;
        if (!csimi_meets_on_its_way(&ball, NULL, pose, p->x, csimi_probe_way(d, p, csimi_place_node(b->item)),
                                    p->radius + rb, p->push, &n, &gap))
            return;
    }
    if (!(c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_point_key(s, b->body, 0))))) return;
    c->radius = p->radius + rb;
    c->point_a = csim_madd(p->x, -p->radius, n);
    c->meet = p->x;
    c->normal = n;
    c->gap = gap;
    c->a = csimi_place_follow(&s->state, csimi_place_node(p->node));
    c->b = csimi_place_node(b->item);
}

static csimi_place csimi_surface_place(const csimi_store *s, const csimi_body *b, const csimi_surface *surface,
                                       const csimi_surface_hit *hit, csim_vec3 meet) {
    const int *t = surface->triangle + 3 * (size_t)hit->triangle;
    int node[3], k;
    for (k = 0; k < 3; k++) node[k] = s->surface_node[b->first_surface + t[k]];
    return csimi_place_over(&s->state, node, hit->weight, meet);
}

/* How near a point that moves by `way` in the step comes to the border it is nearest to: many points would see that of
   a small sheet from afar, in directions of which none is that of the contact to come. */
static csim_real csimi_passes_by(const csimi_surface *surface, const csimi_surface_hit *hit, csim_vec3 x,
                                 csim_vec3 way) {
    csim_vec3 d = csim_sub(x, hit->point);
    csim_real square;
    if (hit->feature < 4) { /* along the edge its nearest point goes with it */
        const int *t = surface->triangle + 3 * (size_t)hit->triangle;
        csim_vec3 e = csim_sub(csimi_load3(surface->x + 3 * (size_t)t[hit->feature % 3]),
                               csimi_load3(surface->x + 3 * (size_t)t[hit->feature - 1]));
        e = csim_normalize(e);
        way = csim_madd(way, -csim_dot(way, e), e);
    }
    square = csim_dot(way, way);
    if (square > 0) d = csim_madd(d, csimi_clamp(-csim_dot(d, way) / square, 0, 1), way);
    return csim_length(d);
}

static uint64_t csimi_sheet_name(const csimi_store *s, const csimi_probe *p, const csimi_object *b, bool side,
                                 uint32_t rank) {
    return csimi_mix64(p->key, csimi_point_key(s, b->body, 0x1ffffff0u + 3 * (uint32_t)side + rank));
}

/* Of those on the same side, how many come before it by the way they look: which is nearest rounding may decide. */
static uint32_t csimi_sheet_rank(const csimi_surface_skip *found, const bool *side, int at) {
    const csim_vec3 way = csim_v3(CSIM_R(0.8), CSIM_R(0.5), CSIM_R(0.3)), *n = found->met;
    uint32_t rank = 0;
    int k;
    for (k = 0; k < found->met_count; k++) rank += side[k] == side[at] && csim_dot(way, csim_sub(n[k], n[at])) < 0;
    return rank;
}

/* Whether the point was met in the step before on this side, 1: below, of a layer that has the normal n now and has not
   turned since by more than what has the cosine `turned`. */
static bool csimi_sheet_was(const csimi_detector *d, const csimi_probe *p, const csimi_object *b, csim_vec3 n,
                            bool side, csim_real turned) {
    const csimi_store *s = &d->world->store;
    int k, at;
    for (k = 0; k < 3; k++) {
        /* with any rank: those that ranks count may have come or gone since */
        at = csimi_last_contact(d->world, &d->last, csimi_sheet_name(s, p, b, side, (uint32_t)k));
        /* normals of contacts look to the point: on side 1 against that of the triangle */
        if (at >= 0 && csim_dot(s->contact[at].normal, n) * (side ? -1 : 1) > turned) return true;
    }
    return false;
}

/* A point against a sheet, which has no inside: it is met on three sides at most (a fold around it, layers above and
   below). Its own corners are met once. */
static void csimi_probe_sheet(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    const csimi_surface *surface = csimi_surface_of(&d->surfaces, b->body);
    const csim_real r = p->radius + B->radius + B->surface.thickness;
    csim_real within = p->reach + r, reach, gap, turned;
    csimi_surface_skip skip;
    csimi_surface_hit hit;
    csimi_found_contact *met[3] = {NULL, NULL, NULL};
    bool side[3];
    int k;
    if (p->self < 0) within = csimi_max(within, B->edge / 2); /* what came out behind it */
    skip.sheet = true;
    skip.vertex = p->self;
    skip.rest = s->surface_rest + 3 * (size_t)B->first_surface;
    skip.radius = B->self_distance; /* what was nearer at rest is no other layer */
    for (skip.met_count = 0; skip.met_count < 3; skip.met_count++) {
        csimi_found_contact *c;
        csimi_place foot;
        csim_vec3 n, way;
        bool below, around, crossed;
        if (!csimi_surface_nearest(surface, p->x, within, &skip, &hit)) break;
        n = hit.normal;
        /* towards the point; nearer than this that is made of rounding, and the triangle's own normal stays */
        if (hit.distance > CSIMI_SQRT(CSIMI_EPS) * B->edge) n = csim_scale(1 / hit.distance, csim_sub(p->x, hit.point));
        skip.met[skip.met_count] = n;
        below = csim_dot(n, hit.normal) < 0;
        around = hit.border && csimi_abs(csim_dot(n, hit.normal)) < CSIM_R(0.5); /* both sides are one */
        turned = skip.met_count == 0 ? CSIM_R(-0.5) : CSIM_R(0.5); /* mostly the nearest is that of before */
        crossed = !around && csimi_sheet_was(d, p, b, hit.normal, !below, turned) &&
                  !csimi_sheet_was(d, p, b, hit.normal, below, turned);
        skip.crossed[skip.met_count] = crossed; /* it slid over triangles that moved, and came out behind them */
        side[skip.met_count] = below != crossed;
        gap = (crossed ? -hit.distance : hit.distance) - r; /* signed from the side it was on */
        n = csim_scale(crossed ? -1 : 1, n);
        /* corner to corner is seen twice: of two vertices of one sheet the lower tells it, else the other body */
        if (hit.feature >= 4 && (p->met || surface->triangle[3 * hit.triangle + hit.feature - 4] < p->self)) continue;
        foot = csimi_surface_place(s, B, surface, &hit, hit.point);
        way = csimi_probe_way(d, p, foot);
        reach = csimi_min(p->reach, p->push + csim_length(way)); /* its own speed, not the fastest of its body */
        if (hit.border && !crossed && csimi_passes_by(surface, &hit, p->x, way) - r > p->push) continue;
        if (gap > reach || !(c = csimi_next_found(d, p->body, b->body, 0))) continue;
        met[skip.met_count] = c;
        c->radius = r;
        c->normal = n;
        c->gap = gap;
        c->point_a = csim_madd(p->x, -p->radius, n);
        csimi_probe_place(s, p, c);
        c->b = csimi_surface_place(s, B, surface, &hit, c->meet);
    }
    for (k = 0; k < skip.met_count; k++)
        /* names wait until all layers are known: ranks count them */
        if (met[k]) met[k]->id = csimi_sheet_name(s, p, b, side[k], csimi_sheet_rank(&skip, side, k));
}

/* A point against the surface of a solid. One contact for each point and solid: its id stays while the point slides
   from triangle to triangle. */
static void csimi_probe_surface(csimi_detector *d, const csimi_probe *p, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *B = s->body + b->body;
    const csimi_surface *surface;
    csim_real r = p->radius + B->surface.thickness, distance, gap, reach;
    csimi_surface_hit hit;
    csimi_found_contact *c;
    csimi_place foot;
    if (B->kind == CSIM_BODY_CLOTH) {
        csimi_probe_sheet(d, p, b);
        return;
    }
    /* inside of another body it is found however deep it is */
    if (!csimi_surface_gap(&d->surfaces, b->body, p->x, p->reach + r, p->self, &hit, &distance)) return;
    gap = distance - r;
    surface = csimi_surface_of(&d->surfaces, b->body);
    if (p->met && hit.feature >= 4 && !hit.inside) return; /* the corner has this contact from its side */
    foot = csimi_surface_place(s, B, surface, &hit, hit.point);
    reach = csimi_min(p->reach, p->push + csim_length(csimi_probe_way(d, p, foot)));
    if (gap > reach) return;
    c = csimi_next_found(d, p->body, b->body, csimi_mix64(p->key, csimi_point_key(s, b->body, 0x1fffffffu)));
    if (!c) return;
    c->surface_b = b->body;
    c->self = p->self;
    c->radius = r;
    c->normal = hit.normal;
    if (hit.distance > CSIMI_SQRT(CSIMI_EPS) * B->edge) /* else the direction is made of rounding */
        c->normal = csim_scale(1 / distance, csim_sub(p->x, hit.point));
    c->point_a = csim_madd(p->x, -p->radius, c->normal);
    c->gap = gap;
    csimi_probe_place(s, p, c);
    c->b = csimi_place_follow(&s->state, csimi_surface_place(s, B, surface, &hit, c->meet));
}

static csimi_probe csimi_node_probe(const csimi_store *s, const csimi_object *a, const csimi_object *b, int node) {
    const csimi_body *A = s->body + a->body, *B = s->body + b->body;
    csimi_probe p;
    p.body = a->body;
    p.node = node;
    p.self = p.shape = -1;
    /* of two surfaces the higher slot leaves corners to the vertices of the other, and so do particles that those meet:
       as csimi_probe_particle says, with any extent, and those of cloth with a radius of its own */
    p.met = b->kind == CSIMI_OBJECT_SOLID &&
            (a->kind == CSIMI_OBJECT_SOLID ? A->edge > 0 && a->body > b->body
             : B->kind == CSIM_BODY_CLOTH  ? A->radius > 0
                                           : A->radius + A->surface.thickness + B->radius + B->surface.thickness > 0);
    p.key = csimi_point_key(s, a->body, (uint32_t)s->node_user[node]); /* the user's number: it stays */
    p.x = csimi_load3(s->state.x + 3 * node);
    p.v = csimi_load3(s->state.v + 3 * node);
    p.radius = A->radius + A->surface.thickness;
    p.reach = a->margin + b->margin;
    p.push = a->push + b->push;
    return p;
}

/* Nodes of a particle or solid against anything. */
CSIMI_FN void csimi_collide_points(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csimi_body *A = s->body + a->body;
    bool particle = a->kind == CSIMI_OBJECT_PARTICLE;
    int i, n = particle ? 1 : A->surface_count;
    csim_pose pose = b->kind == CSIMI_OBJECT_SHAPE ? csimi_shape_pose(s, &s->state, b->item) : csim_pose_identity();
    if (b->kind == CSIMI_OBJECT_SOLID && !(s->body[b->body].edge > 0)) return; /* points alone: nothing to be in */
    for (i = 0; i < n; i++) {
        int node = particle ? A->first_node : s->surface_node[A->first_surface + i];
        csimi_probe p = csimi_node_probe(s, a, b, node);
        if (!csimi_near(d, b, p.x, a->margin + p.radius)) continue;
        switch (b->kind) {
        case CSIMI_OBJECT_SHAPE: csimi_probe_shape(d, &p, b, pose); break;
        case CSIMI_OBJECT_PARTICLE: csimi_probe_particle(d, &p, b); break;
        case CSIMI_OBJECT_SOLID: csimi_probe_surface(d, &p, b); break;
        }
    }
}

/* Corners, edge points and inner balls of a shape against the surface of a solid, as close as its own vertices are. */
CSIMI_FN void csimi_collide_samples(csimi_detector *d, const csimi_object *a, const csimi_object *b) {
    csimi_store *s = &d->world->store;
    const csim_geometry *g = s->shape + a->item;
    csim_pose pose = csim_pose_mul(csimi_shape_pose(s, &s->state, a->item), g->local);
    csimi_sampler sampler;
    csimi_probe p;
    if (!s->body[b->body].corner_contact || !(s->body[b->body].edge > 0)) return;
    if (g->field && s->body[b->body].kind == CSIM_BODY_CLOTH) return; /* its vertices see the field */
    p.body = a->body;
    p.node = p.self = -1;
    p.met = true; /* vertices of the solid look for the shape too */
    p.shape = a->item;
    p.reach = a->margin + b->margin;
    p.push = a->push + b->push;
    csimi_sampler_start(&sampler, g, s->hull, g->spacing > 0 ? g->spacing : s->body[b->body].edge);
    /* nodes of the field in a ball about the solid, not all of it */
    if (g->kind == CSIM_SHAPE_HEIGHTS) {
        const csim_vec3 lower = csimi_load3(d->lower + 3 * (b - d->object)),
                        upper = csimi_load3(d->upper + 3 * (b - d->object));
        const csim_vec3 x = csim_pose_local(pose, csim_scale(CSIM_R(0.5), csim_add(lower, upper)));
        const csim_real r = csim_length(csim_sub(upper, lower)) / 2;
        csimi_sampler_limit(&sampler, csim_sub(x, csim_v3(r, r, r)), csim_add(x, csim_v3(r, r, r)));
    }
    while (csimi_sampler_next(&sampler)) {
        csimi_place place;
        if (sampler.begins && !csimi_near(d, b, csim_pose_point(pose, sampler.middle), a->margin + sampler.ball)) {
            csimi_sampler_pass(&sampler);
            continue;
        }
        p.x = csim_pose_point(pose, sampler.point);
        p.radius = sampler.radius + csimi_thickness_of(s, a);
        if (!csimi_near(d, b, p.x, a->margin + p.radius)) continue;
        place = csimi_shape_place(s, a->item, p.x);
        p.v = csimi_place_velocity(&s->state, &place, p.x);
        p.key = csimi_mix64(csimi_shape_key(s, a), 0x20000000u + (uint32_t)sampler.number);
        csimi_probe_surface(d, &p, b);
    }
}

/* Vertices against the triangles of their own body that were far enough from them at rest. */
CSIMI_FN CSIMI_NOINLINE void csimi_collide_self(csimi_detector *d, int i) {
    csimi_store *s = &d->world->store;
    const csimi_object *a = d->object + i;
    const csimi_body *A = s->body + a->body;
    int k;
    for (k = 0; k < A->surface_count; k++) {
        csimi_probe p = csimi_node_probe(s, a, a, s->surface_node[A->first_surface + k]);
        p.self = k;
        csimi_probe_surface(d, &p, a);
    }
    if (A->kind == CSIM_BODY_CLOTH && A->edge_contact) csimi_touch_sheets(d, a, a);
}
