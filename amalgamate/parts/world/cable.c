/* world/cable: making cables and clamps. */
#include "private.h"

CSIM_API csim_cable_def csim_default_cable_def(void) {
    CSIMI_BLANK(csim_cable_def, d);
    d.segments = 16;
    d.radius = CSIM_R(0.005);
    d.density = 1000;
    d.young = CSIM_R(1e6);
    d.poisson = CSIM_R(0.5);
    d.stretch_stiffness = d.shear_stiffness = d.bend_stiffness = d.bend_stiffness2 = d.twist_stiffness = -1;
    d.self_contact = d.edge_contact = true;
    d.surface = csim_default_surface_def();
    return d;
}

CSIM_API csim_clamp_def csim_default_clamp_def(void) {
    CSIMI_BLANK(csim_clamp_def, d);
    return d;
}

/* ---- the definition */

static int csimi_cable_nodes(const csim_cable_def *d) { return d->points ? d->point_count : d->segments + 1; }

static int csimi_cable_edges(const csim_cable_def *d) { return csimi_cable_nodes(d) - (d->closed ? 0 : 1); }

/* Joints between edges, and clamps. */
static int csimi_cable_bends(const csim_cable_def *d) {
    return csimi_cable_edges(d) - (d->closed ? 0 : 1) + (d->start_end == CSIM_CABLE_CLAMPED ? 1 : 0) +
           (d->end_end == CSIM_CABLE_CLAMPED ? 1 : 0);
}

static csim_vec3 csimi_cable_point(const csim_cable_def *d, int i) {
    csim_real t;
    if (d->points) return csimi_load3(d->points + 3 * (size_t)(i % d->point_count));
    t = (csim_real)i / (csim_real)d->segments;
    return csim_add(csim_scale(1 - t, d->start), csim_scale(t, d->end));
}

static csim_status csimi_cable_shape(csim_world *w, const csim_cable_def *d, const char *fn) {
    const double r2 = (double)d->radius * (double)d->radius;
    double mass;
    int i, least = d->closed ? 3 : 2, nodes = csimi_cable_nodes(d), edges = csimi_cable_edges(d);
    for (i = 0; d->points && i < 3 * nodes; i++)
        if (!csimi_finite(d->points[i]) || csimi_abs(d->points[i]) > CSIM_R(1e9))
            return csimi_fail(&w->error, CSIM_NOT_FINITE, fn, "points", (double)d->points[i],
                              "finite numbers in -1e9..1e9");
    if (nodes < least)
        return csimi_unfit(&w->error, fn, "point_count", (double)nodes,
                           d->closed ? "at least 3 when closed" : "at least 2");
    for (i = 0; i < edges; i++) {
        csim_vec3 a = csimi_cable_point(d, i), b = csimi_cable_point(d, i + 1), along = csim_sub(b, a);
        csim_real length = csim_length(along), size = csim_length(a) + csim_length(b);
        if (!(length > 64 * CSIMI_EPS * size) || !(length > CSIM_R(1e-9)))
            return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "points: zero-length edge", (double)i,
                              "neighbouring points apart");
        mass = (double)d->density * r2 * (double)length;
        if (!csimi_weighs(mass) || !csimi_weighs(mass * r2)) /* to factors of pi, strain and a quarter */
            return csimi_unfit(&w->error, fn, "radius", (double)d->radius,
                               "such that mass and inertia of an edge are " CSIMI_MASSES);
        if (d->frames) {
            csim_quat q = csimi_load_quat(d->frames + 4 * (size_t)i);
            csim_real norm = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
            if (!(csimi_abs(norm - 1) < CSIM_R(0.002)))
                return csimi_fail(&w->error, csimi_finite(norm) ? CSIM_OUT_OF_RANGE : CSIM_NOT_FINITE, fn,
                                  "frames: length squared", (double)norm, "unit quaternions, 1 within 0.002");
            if (!(csim_dot(csim_rotate(q, csim_v3(0, 0, 1)), along) > CSIM_R(0.5) * length))
                return csimi_fail(&w->error, CSIM_BAD_MESH, fn, "frames: edge", (double)i,
                                  "third axes that point along their edges");
        }
    }
    return CSIM_OK;
}

static csim_status csimi_check_cable(csim_world *w, const csim_cable_def *d) {
    static const char fn[] = "csim_create_cable";
#define CSIMI_SECTION(name, low, open, text) \
    CSIMI_FIELD(#name, offsetof(csim_cable_def, name), low, 1e15, open, false, text)
    static const csimi_field fields[] = {
        CSIMI_ANY3(csim_cable_def, start), CSIMI_ANY3(csim_cable_def, end), CSIMI_ANY3(csim_cable_def, normal),
        CSIMI_ANY3(csim_cable_def, velocity), CSIMI_POSITIVE(csim_cable_def, radius),
        CSIMI_POSITIVE(csim_cable_def, density), CSIMI_POSITIVE(csim_cable_def, young),
        CSIMI_FIELD("poisson", offsetof(csim_cable_def, poisson), -1, 0.5, true, false, "above -1, at most 0.5"),
        CSIMI_SECTION(stretch_stiffness, -1e15, false, "below 0 (from the material) or above 0"),
        CSIMI_SECTION(shear_stiffness, -1e15, false, "below 0 (from the material) or above 0"),
        CSIMI_SECTION(bend_stiffness, -1e15, false, "below 0 (from the material) or 0..1e15"),
        CSIMI_SECTION(bend_stiffness2, -1e15, false, "below 0 (as bend_stiffness) or 0..1e15"),
        CSIMI_SECTION(twist_stiffness, -1e15, false, "below 0 (from the material) or 0..1e15"),
        CSIMI_WITHIN(csim_cable_def, strain, -0.9, 10, "-0.9..10"), CSIMI_ANY3(csim_cable_def, rest_curvature),
        CSIMI_AT_LEAST_0(csim_cable_def, mass_damping), CSIMI_AT_LEAST_0(csim_cable_def, stiffness_damping)};
#undef CSIMI_SECTION
    csim_status s;
    if ((s = csimi_check_guard(&w->error, fn, "made by csim_default_cable_def()", d->guard)) != 0) return s;
    if ((s = csimi_check_fields(&w->error, fn, d, fields, CSIMI_COUNT_OF(fields))) != 0) return s;
    if (d->stretch_stiffness == 0 || d->shear_stiffness == 0)
        return csimi_unfit(&w->error, fn, d->stretch_stiffness == 0 ? "stretch_stiffness" : "shear_stiffness", 0,
                           "below 0 (from the material) or above 0");
    if ((s = csimi_check_enum(&w->error, fn, "start_end", (int)d->start_end, CSIM_CABLE_END_COUNT_)) != 0) return s;
    if ((s = csimi_check_enum(&w->error, fn, "end_end", (int)d->end_end, CSIM_CABLE_END_COUNT_)) != 0) return s;
    if ((s = csimi_check_surface(&w->error, fn, &d->surface)) != 0) return s;
    if (d->points && (d->point_count < 2 || d->point_count > 1000000))
        return csimi_unfit(&w->error, fn, "point_count", (double)d->point_count, "2..1e6");
    if (!d->points && (d->segments < 1 || d->segments > 1000000))
        return csimi_unfit(&w->error, fn, "segments", (double)d->segments, "1..1e6");
    if (d->closed && !d->points) return csimi_deny(&w->error, CSIM_NULL_ARGUMENT, fn, "points", "not null when closed");
    if (d->closed && (d->start_end != CSIM_CABLE_FREE || d->end_end != CSIM_CABLE_FREE))
        return csimi_unfit(&w->error, fn, "start_end", (double)d->start_end, "both ends CSIM_CABLE_FREE when closed");
    return csimi_cable_shape(w, d, fn);
}

/* ---- writing */

/* The rotation by the smallest angle that takes unit vector a to unit vector b. */
static csim_quat csimi_shortest_turn(csim_vec3 a, csim_vec3 b) {
    csim_vec3 axis = csim_cross(a, b);
    csim_real half = 1 + csim_dot(a, b);
    csim_quat q;
    if (half < CSIM_R(1e-6)) { /* opposite: any axis across */
        axis = csimi_abs(a.x) < CSIM_R(0.7) ? csim_cross(a, csim_v3(1, 0, 0)) : csim_cross(a, csim_v3(0, 1, 0));
        return csim_quat_axis_angle(axis, CSIMI_PI);
    }
    q.w = half;
    q.x = axis.x;
    q.y = axis.y;
    q.z = axis.z;
    return csim_quat_normalize(q);
}

static csim_vec3 csimi_cable_tangent(const csim_cable_def *d, int edge) {
    return csim_normalize(csim_sub(csimi_cable_point(d, edge + 1), csimi_cable_point(d, edge)));
}

/* Frame of an edge as drawn; last: that of the edge before. */
static csim_quat csimi_cable_frame(const csim_cable_def *d, int edge, csim_quat last) {
    csim_vec3 t = csimi_cable_tangent(d, edge), z = csim_v3(0, 0, 1), x, n;
    csim_quat q;
    if (d->frames) return csim_quat_normalize(csimi_load_quat(d->frames + 4 * (size_t)edge));
    if (edge > 0) return csim_quat_normalize(csim_quat_mul(csimi_shortest_turn(csim_rotate(last, z), t), last));
    q = csimi_shortest_turn(z, t);
    x = csim_rotate(q, csim_v3(1, 0, 0));
    n = csim_madd(d->normal, -csim_dot(d->normal, t), t);
    if (csim_dot(n, n) > CSIM_R(1e-12) * csim_dot(d->normal, d->normal))
        q = csim_quat_mul(csimi_shortest_turn(x, csim_normalize(n)), q);
    return csim_quat_normalize(q);
}

/* Stiffness of the section: shear, shear, stretch; bend, bend, twist. */
static void csimi_cable_section(const csim_cable_def *d, csim_real *C, csim_real *D) {
    csim_real r2 = d->radius * d->radius, A = CSIMI_PI * r2, I = A * r2 / 4;
    csim_real G = d->young / (2 * (1 + d->poisson)), k = 6 * (1 + d->poisson) / (7 + 6 * d->poisson);
    C[0] = C[1] = d->shear_stiffness < 0 ? k * G * A : d->shear_stiffness;
    C[2] = d->stretch_stiffness < 0 ? d->young * A : d->stretch_stiffness;
    D[0] = d->bend_stiffness < 0 ? d->young * I : d->bend_stiffness;
    D[1] = d->bend_stiffness2 < 0 ? D[0] : d->bend_stiffness2;
    D[2] = d->twist_stiffness < 0 ? 2 * G * I : d->twist_stiffness;
}

static void csimi_write_edge(csimi_store *s, const csim_cable_def *d, const csim_real *C, int edge, int slot) {
    csimi_state *t = &s->state;
    int k = s->count.frames + edge, node = s->count.nodes, nodes = csimi_cable_nodes(d), c;
    csim_real length = csim_length(csim_sub(csimi_cable_point(d, edge + 1), csimi_cable_point(d, edge)));
    csim_real r2 = d->radius * d->radius, mass;
    csim_quat last = edge ? csimi_load_quat(t->frame + 4 * (size_t)(k - 1)) : csim_quat_identity();
    length /= 1 + d->strain;
    mass = d->density * CSIMI_PI * r2 * length;
    csimi_store_quat(t->frame + 4 * (size_t)k, csimi_cable_frame(d, edge, last));
    t->edge_node[2 * k] = node + edge;
    t->edge_node[2 * k + 1] = node + (edge + 1) % nodes;
    t->edge_data[6 * k] = length;
    for (c = 0; c < 3; c++) {
        t->edge_data[6 * k + 1 + c] = C[c];
        t->frame_inertia[3 * k + c] = (c < 2 ? 1 : 2) * mass * r2 / 4;
        t->frame_velocity[3 * k + c] = s->frame_rep[3 * k + c] = t->frame_torque[3 * k + c] = 0;
    }
    t->edge_data[6 * k + 4] = d->stiffness_damping;
    t->edge_data[6 * k + 5] = d->radius;
    t->frame_damping[k] = d->mass_damping;
    t->frame_mode[k] = CSIMI_FREE;
    s->frame_body[k] = slot;
    t->node_mass[t->edge_node[2 * k]] += mass / 2;
    t->node_mass[t->edge_node[2 * k + 1]] += mass / 2;
}

static csimi_bend_end csimi_bend_frame(int frame) {
    csimi_bend_end e;
    CSIMI_MEMSET(&e, 0, sizeof e);
    e.frame = frame;
    e.rigid = -1;
    e.rotation[0] = 1;
    return e;
}

static csimi_bend_end csimi_bend_world(csim_quat q) {
    csimi_bend_end e = csimi_bend_frame(-1);
    csimi_store_quat(e.rotation, q);
    return e;
}

/* One bend element behind the counts. */
static void csimi_write_bend(csimi_store *s, int at, csimi_bend_end a, csimi_bend_end b, csim_real length,
                             const csim_real *D, csim_vec3 rest, csim_real damping) {
    csim_real *data = s->state.bend_data + 8 * (size_t)at;
    s->state.bend[at].end[0] = a;
    s->state.bend[at].end[1] = b;
    data[0] = length;
    csimi_store3(data + 1, csimi_load3(D));
    csimi_store3(data + 4, rest);
    data[7] = damping;
}

/* The bend elements of a cable in the order of its nodes: start clamp, joints, end clamp; a ring begins with the joint
   at its first node. */
static void csimi_write_bends(csimi_store *s, const csim_cable_def *d, const csim_real *D) {
    const csim_real *q = s->state.frame + 4 * (size_t)s->count.frames;
    const csim_real *edge = s->state.edge_data + 6 * (size_t)s->count.frames;
    int first = s->count.frames, edges = csimi_cable_edges(d), at = s->count.bends, i;
    csim_vec3 rest = d->rest_as_drawn ? csim_v3(0, 0, 0) : d->rest_curvature;
    if (d->start_end == CSIM_CABLE_CLAMPED)
        csimi_write_bend(s, at++, csimi_bend_world(csimi_load_quat(q)), csimi_bend_frame(first), edge[0] / 2, D, rest,
                         d->stiffness_damping);
    for (i = d->closed ? 0 : 1; i < edges; i++) {
        int before = i ? i - 1 : edges - 1;
        csim_real length = (edge[6 * (size_t)before] + edge[6 * (size_t)i]) / 2, kappa[3];
        if (d->rest_as_drawn) {
            csimi_bend_curvature(csimi_load_quat(q + 4 * (size_t)before), csimi_load_quat(q + 4 * (size_t)i), length,
                                 kappa);
            rest = csimi_load3(kappa);
        }
        csimi_write_bend(s, at++, csimi_bend_frame(first + before), csimi_bend_frame(first + i), length, D, rest,
                         d->stiffness_damping);
    }
    if (d->rest_as_drawn) rest = csim_v3(0, 0, 0);
    if (d->end_end == CSIM_CABLE_CLAMPED)
        csimi_write_bend(s, at++, csimi_bend_frame(first + edges - 1),
                         csimi_bend_world(csimi_load_quat(q + 4 * (size_t)(edges - 1))),
                         edge[6 * (size_t)(edges - 1)] / 2, D, rest, d->stiffness_damping);
}

static void csimi_write_cable(csimi_store *s, const csim_cable_def *d, int slot) {
    csimi_body *b = s->body + slot;
    csim_real C[3], D[3];
    int i, nodes = csimi_cable_nodes(d), edges = csimi_cable_edges(d), first = s->count.nodes;
    csimi_cable_section(d, C, D);
    for (i = 0; i < nodes; i++) {
        bool held = (i == 0 && d->start_end != CSIM_CABLE_FREE) || (i == nodes - 1 && d->end_end != CSIM_CABLE_FREE);
        csimi_write_node(s, first + i, csimi_cable_point(d, i), held ? csim_v3(0, 0, 0) : d->velocity, 0,
                         d->mass_damping, held ? CSIM_STATIC : CSIM_DYNAMIC, slot);
        s->node_user[first + i] = s->node_of_user[first + i] = i;
        s->node_aggregate[first + i] = -1;
        s->surface_node[s->count.surface + i] = first + i;
    }
    for (i = 0; i < edges; i++) csimi_write_edge(s, d, C, i, slot);
    b->node_count = b->surface_count = nodes;
    b->frame_count = edges;
    b->bend_count = csimi_cable_bends(d);
    csimi_write_bends(s, d, D);
    b->clamped[0] = d->start_end == CSIM_CABLE_CLAMPED;
    b->clamped[1] = d->end_end == CSIM_CABLE_CLAMPED;
    b->closed = d->closed;
    b->self_contact = d->self_contact;
    b->edge_contact = d->edge_contact;
    b->radius = d->radius;
    b->matrix_blocks = nodes + 7 * edges + 2 * b->bend_count;
}

CSIM_API csim_status csim_create_cable(csim_world *w, const csim_cable_def *def, csim_body_id *id) {
    static const char fn[] = "csim_create_cable";
    csimi_counts need;
    csimi_store *s;
    int slot, nodes, edges;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_cable(w, def)) != 0) return status;
    nodes = csimi_cable_nodes(def);
    edges = csimi_cable_edges(def);
    need = csimi_counts_with_body(w);
    need.nodes += nodes;
    need.surface += nodes;
    need.frames += edges;
    need.bends += csimi_cable_bends(def);
    need.matrix_blocks += nodes + 7 * edges + 2 * csimi_cable_bends(def);
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    slot = csimi_take_body(w, CSIM_BODY_CABLE, CSIM_DYNAMIC, &def->surface, def->user_data);
    csimi_write_cable(s, def, slot);
    s->count.nodes += nodes;
    s->count.surface += nodes;
    s->count.frames += edges;
    s->count.bends += s->body[slot].bend_count;
    s->count.matrix_blocks += s->body[slot].matrix_blocks;
    csimi_finish_create(w, slot, id);
    return CSIM_OK;
}

/* The end of a clamp on the body whose axes hold the section q; world where the slot is -1. */
static csimi_bend_end csimi_clamp_end(const csimi_store *s, int slot, csim_quat q) {
    csimi_bend_end e = csimi_bend_world(q);
    if (slot < 0) return e;
    e.rigid = s->body[slot].rigid;
    csimi_store_quat(e.rotation,
                     csim_quat_mul(csim_quat_conj(csimi_load_quat(s->state.rotation + 4 * (size_t)e.rigid)), q));
    return e;
}

CSIM_API csim_status csim_create_clamp(csim_world *w, const csim_clamp_def *def, csim_link_id *id) {
    static const char fn[] = "csim_create_clamp";
    csimi_counts need;
    csimi_store *s;
    const csimi_body *cable;
    csimi_bend_end end[2];
    csim_real D[3], length, damping;
    int bodies[2] = {-1, -1}, frame, item, link;
    csim_status status = csimi_start_create(w, def, id, fn);
    if (status) return status;
    if ((status = csimi_check_guard(&w->error, fn, "made by csim_default_clamp_def()", def->guard)) != 0) return status;
    if (def->free_bend && def->free_twist)
        return csimi_unfit(&w->error, fn, "free_twist", 1, "false where free_bend is true");
    if ((status = csimi_find_cable(w, def->cable, fn, bodies, &w->error)) != 0) return status;
    if (def->body.index1 && (status = csimi_find_body(w, def->body, fn, bodies + 1, &w->error)) != 0) return status;
    if (bodies[1] >= 0 && w->store.body[bodies[1]].kind != CSIM_RIGID)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "body", (double)def->body.index1, "a rigid body");
    cable = w->store.body + bodies[0];
    if (cable->closed || cable->bend_count == 0)
        return csimi_fail(&w->error, CSIM_WRONG_KIND, fn, "cable", (double)def->cable.index1,
                          "an open cable of two edges at least");
    need = w->store.count;
    if (w->free_link < 0) need.links++;
    need.bends++;
    need.matrix_blocks += 2;
    if ((status = csimi_make_room(w, need, fn)) != 0) return status;
    s = &w->store;
    cable = s->body + bodies[0];
    frame = cable->first_frame + (def->at_end ? cable->frame_count - 1 : 0);
    item = cable->first_bend + (def->at_end ? cable->bend_count - 1 : 0); /* its neighbour knows the section */
    csimi_store3(D, csimi_load3(s->state.bend_data + 8 * (size_t)item + 1));
    if (def->free_bend) D[0] = D[1] = 0;
    if (def->free_twist) D[2] = 0;
    length = s->state.edge_data[6 * (size_t)frame] / 2;
    damping = s->state.bend_data[8 * (size_t)item + 7];
    end[def->at_end ? 0 : 1] = csimi_bend_frame(frame);
    end[def->at_end ? 1 : 0] = csimi_clamp_end(s, bodies[1], csimi_load_quat(s->state.frame + 4 * (size_t)frame));
    item = s->count.bends++;
    csimi_write_bend(s, item, end[0], end[1], length, D, csim_v3(0, 0, 0), damping);
    s->count.matrix_blocks += 2;
    link = csimi_take_link(w, CSIMI_CLAMP, item, bodies, 0);
    csimi_finish_link(w, link, id);
    return CSIM_OK;
}
