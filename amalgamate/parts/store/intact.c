/* store/intact: are the bytes of a snapshot a world? A checksum says that bytes are undamaged, not who wrote them:
   every index, count, choice and number is looked at before anything of the world changes.

   Each line of CSIMI_WORLD_ARRAYS names what its array holds, and so the rule below that judges it: an array without a
   rule does not compile. Rules look at one array; what arrays say about each other is compared afterwards, body by
   body, tree by tree and link by link. The bytes may lie anywhere: they are read by copies. */
#include "private.h"

/* ---- saying what is wrong */

static bool csimi_unsound(const csimi_staged *s, const char *array, long item, const char *part, double value,
                          const char *allowed) {
    char name[80];
    size_t n = csimi_append_text(name, sizeof name, 0, array);
    if (item >= 0) {
        n = csimi_append_text(name, sizeof name, n, "[");
        n = csimi_append_int(name, sizeof name, n, item);
        n = csimi_append_text(name, sizeof name, n, "]");
    }
    if (part[0]) n = csimi_append_text(name, sizeof name, n, ".");
    csimi_append_text(name, sizeof name, n, part);
    csimi_fail(s->error, CSIM_BAD_SNAPSHOT, "csim_world_restore", name, value, allowed);
    return false;
}

/* "0..12", or what there may be where there is nothing */
static bool csimi_outside(const csimi_staged *s, const char *array, long item, const char *part, long value, long low,
                          long high) {
    char range[48];
    size_t n = csimi_append_int(range, sizeof range, 0, low);
    n = csimi_append_text(range, sizeof range, n, "..");
    csimi_append_int(range, sizeof range, n, high);
    return csimi_unsound(s, array, item, part, (double)value,
                         high < low ? "none: there is nothing of that kind" : range);
}

/* ---- reading */

#define CSIMI_READ(type, array, i, to) CSIMI_MEMCPY(to, (array) + sizeof(type) * (size_t)(i), sizeof(type))

static int csimi_int_in(const unsigned char *array, int i) {
    int x;
    CSIMI_READ(int, array, i, &x);
    return x;
}

static csim_real csimi_real_in(const unsigned char *array, int i) {
    csim_real x;
    CSIMI_READ(csim_real, array, i, &x);
    return x;
}

static int csimi_count_on(const csimi_counts *n, csimi_axis axis) {
    switch (axis) {
#define CSIMI_X(name) \
    case CSIMI_AXIS_##name: return n->name;
        CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    }
    return 0;
}

/* ---- records: their parts, by the bytes, for a flag that is neither 0 nor 1 must not be read as one */

typedef enum csimi_part_kind {
    CSIMI_PART_FLAG,    /* bool */
    CSIMI_PART_CHOICE,  /* enum or int: 0..most - 1 */
    CSIMI_PART_INDEX,   /* int: -1, or one of the axis `most` */
    CSIMI_PART_COUNT,   /* int: 0..the count of the axis `most` */
    CSIMI_PART_REALS,   /* finite */
    CSIMI_PART_AMOUNTS, /* finite, 0 or more */
    CSIMI_PART_TURN     /* unit quaternions */
} csimi_part_kind;

typedef struct csimi_part {
    const char *name;
    size_t at, bytes;
    csimi_part_kind kind;
    int most;
} csimi_part;

/* A part of csimi_record, the type that a rule names. */
#define CSIMI_PART(field, kind, most) \
    { #field, offsetof(csimi_record, field), sizeof(((csimi_record *)0)->field), CSIMI_PART_##kind, most }
#define CSIMI_FLAG(field) CSIMI_PART(field, FLAG, 0)
#define CSIMI_CHOICE(field, end) CSIMI_PART(field, CHOICE, end)
#define CSIMI_INDEX(field, axis) CSIMI_PART(field, INDEX, CSIMI_AXIS_##axis)
#define CSIMI_COUNT(field, axis) CSIMI_PART(field, COUNT, CSIMI_AXIS_##axis)
#define CSIMI_REALS(field) CSIMI_PART(field, REALS, 0)
#define CSIMI_AMOUNTS(field) CSIMI_PART(field, AMOUNTS, 0)
#define CSIMI_TURN(field) CSIMI_PART(field, TURN, 0)

/* 1 within a hundredth: turns are normalised in every step. */
static bool csimi_is_turn(const csim_real *q) {
    const csim_real square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return csimi_finite(square) && csimi_abs(square - 1) < CSIM_R(0.02);
}

static long csimi_whole_part(const csimi_part *part, const unsigned char *from) {
    int x = 0;
    if (part->bytes == 1) return *from;
    if (part->bytes != sizeof x) return -2;
    CSIMI_MEMCPY(&x, from, sizeof x);
    return x;
}

static bool csimi_numbers_sound(const csimi_staged *s, const char *array, long item, const csimi_part *part,
                                const unsigned char *from) {
    const int count = (int)(part->bytes / sizeof(csim_real));
    csim_real q[4], none = 0;
    int k;
    for (k = 0; k < count; k++) none += csimi_real_in(from, k) * 0; /* 0 of finite numbers, else not a number */
    if (part->kind == CSIMI_PART_REALS && csimi_finite(none)) return true;
    for (k = 0; k < count; k++) {
        const csim_real x = csimi_real_in(from, k);
        if (!csimi_finite(x)) return csimi_unsound(s, array, item, part->name, (double)x, "finite numbers");
        if (part->kind == CSIMI_PART_AMOUNTS && x < 0)
            return csimi_unsound(s, array, item, part->name, (double)x, "0 or more");
        q[k % 4] = x;
        if (part->kind == CSIMI_PART_TURN && k % 4 == 3 && !csimi_is_turn(q))
            return csimi_unsound(s, array, item, part->name, (double)x, "unit quaternions");
    }
    return true;
}

static bool csimi_parts_sound(const csimi_staged *s, const char *array, long item, const unsigned char *record,
                              const csimi_part *parts, int count) {
    int i;
    for (i = 0; i < count; i++) {
        const csimi_part *part = parts + i;
        const unsigned char *from = record + part->at;
        long x, low = 0, high = 1;
        size_t k;
        switch (part->kind) {
        case CSIMI_PART_REALS:
        case CSIMI_PART_AMOUNTS:
        case CSIMI_PART_TURN:
            if (!csimi_numbers_sound(s, array, item, part, from)) return false;
            continue;
        case CSIMI_PART_FLAG:
            for (k = 0; k < part->bytes; k++)
                if (from[k] > 1) return csimi_outside(s, array, item, part->name, from[k], 0, 1);
            continue;
        case CSIMI_PART_CHOICE: high = part->most - 1; break;
        case CSIMI_PART_INDEX:
            low = -1;
            high = csimi_count_on(s->n, (csimi_axis)part->most) - 1;
            break;
        case CSIMI_PART_COUNT: high = csimi_count_on(s->n, (csimi_axis)part->most); break;
        }
        x = csimi_whole_part(part, from);
        if (x < low || x > high) return csimi_outside(s, array, item, part->name, x, low, high);
    }
    return true;
}

/* Every item of an array of records. */
static bool csimi_records_sound(const csimi_staged *s, const csimi_array *a, const csimi_part *parts, int count) {
    int i;
    for (i = 0; i < a->count; i++)
        if (!csimi_parts_sound(s, a->name, i, a->at + a->stride * (size_t)i, parts, count)) return false;
    return true;
}

static bool csimi_body_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_body csimi_record;
    static const csimi_part parts[] = {
        CSIMI_FLAG(alive), CSIMI_CHOICE(kind, CSIM_BODY_KIND_COUNT_),
        CSIMI_CHOICE(motion, CSIM_MOTION_COUNT_), CSIMI_INDEX(next_free, bodies), CSIMI_FLAG(clamped),
        CSIMI_FLAG(self_contact), CSIMI_FLAG(closed), CSIMI_FLAG(corner_contact), CSIMI_FLAG(edge_contact),
        CSIMI_FLAG(can_sleep), CSIMI_FLAG(disabled), CSIMI_CHOICE(motion_then, CSIM_MOTION_COUNT_),
        CSIMI_REALS(centre), CSIMI_AMOUNTS(radius), CSIMI_AMOUNTS(edge), CSIMI_AMOUNTS(self_distance),
        CSIMI_AMOUNTS(sigma), CSIMI_FLAG(rest.asleep), CSIMI_FLAG(rest.woke), CSIMI_FLAG(rest.drowsy),
        CSIMI_CHOICE(rest.zone, CSIMI_ZONE_COUNT), CSIMI_AMOUNTS(rest.calm)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_geometry_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csim_geometry csimi_record;
    static const csimi_part parts[] = {
        CSIMI_CHOICE(kind, CSIM_SHAPE_COUNT_), CSIMI_REALS(local.position), CSIMI_TURN(local.rotation),
        CSIMI_AMOUNTS(half), CSIMI_AMOUNTS(radius), CSIMI_AMOUNTS(half_height), CSIMI_AMOUNTS(spacing),
        CSIMI_REALS(centre), CSIMI_AMOUNTS(bound), CSIMI_INDEX(hull, hulls)};
    int i, hulls = 0;
    if (!csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts))) return false;
    for (i = 0; i < a->count; i++) { /* hulls stand in the order of their shapes */
        csim_geometry g;
        CSIMI_READ(csim_geometry, a->at, i, &g);
        if (g.hull != (g.kind == CSIM_SHAPE_HULL ? hulls++ : -1))
            return csimi_unsound(s, a->name, i, "hull", g.hull, "one for each hull, in order; -1 for other kinds");
    }
    return hulls == s->n->hulls ||
           csimi_unsound(s, "count", -1, "hulls", s->n->hulls, "as many as shapes that are hulls");
}

/* Numbers of corners, faces and edges, and where each face begins: what walks over a hull trusts them. */
static bool csimi_hull_shape_sound(const csimi_staged *s, const csimi_array *a, int i, const int *count) {
    const unsigned char *at = a->at + a->stride * (size_t)i + offsetof(csim_hull_data, face_start);
    short from, to;
    int k;
    if (count[0] < 4 || count[0] > CSIM_HULL_MAX_VERTICES || count[1] < 4 || count[1] > CSIM_HULL_MAX_FACES ||
        count[2] < 6 || count[2] > CSIM_HULL_MAX_EDGES || count[0] - count[2] + count[1] != 2)
        return csimi_unsound(s, a->name, i, "vertex_count", count[0], "V - E + F = 2 within the limits of a hull");
    CSIMI_READ(short, at, 0, &from);
    for (k = 0; k < count[1]; k++, from = to) {
        CSIMI_READ(short, at, k + 1, &to);
        if ((k == 0 && from != 0) || to < from + 3 || to > from + count[0] || to > 2 * count[2])
            return csimi_unsound(s, a->name, i, "face_start", to, "3..vertex_count corners a face");
    }
    return from == 2 * count[2] || csimi_unsound(s, a->name, i, "face_start", from, "two corners an edge in all");
}

static bool csimi_hull_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csim_hull_data csimi_record;
    static const csimi_part parts[] = {CSIMI_REALS(vertex), CSIMI_REALS(normal), CSIMI_REALS(offset)};
    int i, k, count[3];
    if (!csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts))) return false;
    for (i = 0; i < a->count; i++) {
        const unsigned char *hull = a->at + a->stride * (size_t)i;
        CSIMI_MEMCPY(count, hull + offsetof(csim_hull_data, vertex_count), sizeof count);
        if (!csimi_hull_shape_sound(s, a, i, count)) return false;
        for (k = 0; k < 2 * count[2]; k++)
            if (hull[offsetof(csim_hull_data, face_vertex) + (size_t)k] >= count[0] ||
                hull[offsetof(csim_hull_data, edge_vertex) + (size_t)k] >= count[0] ||
                hull[offsetof(csim_hull_data, edge_face) + (size_t)k] >= count[1])
                return csimi_unsound(s, a->name, i, "corners and faces", k, "indices below their counts");
    }
    return true;
}

static bool csimi_skin_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_skin csimi_record;
    static const csimi_part parts[] = {CSIMI_FLAG(own), CSIMI_FLAG(sensor), CSIMI_FLAG(disabled), CSIMI_FLAG(gone)};
    int i;
    if (!csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts))) return false;
    for (i = 0; i < a->count; i++) {
        csim_surface_def surface;
        CSIMI_MEMCPY(&surface, a->at + a->stride * (size_t)i + offsetof(csimi_skin, surface), sizeof surface);
        if (csimi_check_surface(NULL, "csim_world_restore", &surface))
            return csimi_unsound(s, a->name, i, "surface", (double)surface.friction, "what a definition may hold");
    }
    return true;
}

static bool csimi_link_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_link csimi_record;
    static const csimi_part parts[] = {
        CSIMI_FLAG(alive), CSIMI_CHOICE(kind, CSIMI_EXCLUSION + 1), CSIMI_INDEX(next_free, links),
        CSIMI_FLAG(apart), CSIMI_AMOUNTS(break_force), CSIMI_REALS(tension), CSIMI_FLAG(broken),
        CSIMI_FLAG(broke)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_joint_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_joint csimi_record;
    static const csimi_part parts[] = {
        CSIMI_CHOICE(kind, CSIM_JOINT_COUNT_), CSIMI_REALS(frame), CSIMI_AMOUNTS(length), CSIMI_REALS(lower),
        CSIMI_REALS(upper), CSIMI_FLAG(limited), CSIMI_FLAG(broken), CSIMI_FLAG(broke),
        CSIMI_CHOICE(motor.kind, CSIM_MOTOR_COUNT_), CSIMI_REALS(motor.target), CSIMI_AMOUNTS(motor.speed),
        CSIMI_AMOUNTS(motor.force), CSIMI_REALS(ratio), CSIMI_REALS(offset), CSIMI_AMOUNTS(break_force),
        CSIMI_AMOUNTS(break_torque), CSIMI_REALS(position), CSIMI_AMOUNTS(scale), CSIMI_REALS(impulse),
        CSIMI_REALS(R), CSIMI_REALS(aim), CSIMI_REALS(miss), CSIMI_REALS(added), CSIMI_REALS(stiff)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

/* One axis of the settings of a joint. */
static bool csimi_axis_sound(const csimi_staged *s, const char *name, int item, const unsigned char *at) {
    typedef csim_axis_def csimi_record;
    static const csimi_part parts[] = {
        CSIMI_CHOICE(hold, CSIM_HOLD_COUNT_), CSIMI_FLAG(limited), CSIMI_REALS(lower), CSIMI_REALS(upper),
        CSIMI_AMOUNTS(limit), CSIMI_AMOUNTS(spring), CSIMI_REALS(target), CSIMI_REALS(rate),
        CSIMI_AMOUNTS(spring_force), CSIMI_CHOICE(motor.kind, CSIM_MOTOR_COUNT_), CSIMI_REALS(motor.target),
        CSIMI_AMOUNTS(motor.speed), CSIMI_AMOUNTS(motor.force)};
    csim_axis_def d;
    if (!csimi_parts_sound(s, name, item, at, parts, CSIMI_COUNT_OF(parts))) return false;
    CSIMI_MEMCPY(&d, at, sizeof d);
    return d.lower <= d.upper || csimi_unsound(s, name, item, "axis.lower", (double)d.lower, "at most upper");
}

static bool csimi_axes_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_axes csimi_record;
    static const csimi_part parts[] = {
        CSIMI_AMOUNTS(cone), CSIMI_AMOUNTS(cone_limit), CSIMI_REALS(position), CSIMI_REALS(turn),
        CSIMI_REALS(impulse), CSIMI_REALS(aim), CSIMI_REALS(miss), CSIMI_REALS(added), CSIMI_REALS(weight),
        CSIMI_AMOUNTS(stiff), CSIMI_AMOUNTS(kappa)};
    int i;
    if (!csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts))) return false;
    for (i = 0; i < 6 * a->count; i++) {
        const size_t at = offsetof(csimi_axes, axis) + sizeof(csim_axis_def) * (size_t)(i % 6);
        if (!csimi_axis_sound(s, a->name, i / 6, a->at + a->stride * (size_t)(i / 6) + at)) return false;
    }
    return true;
}

static bool csimi_bend_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_bend_end csimi_record;
    static const csimi_part parts[] = {CSIMI_INDEX(frame, frames), CSIMI_INDEX(rigid, rigids), CSIMI_TURN(rotation)};
    csimi_array ends = *a;
    ends.count = 2 * a->count;
    ends.stride = sizeof(csimi_bend_end);
    return csimi_records_sound(s, &ends, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_place_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_place csimi_record;
    static const csimi_part parts[] = {CSIMI_CHOICE(kind, CSIMI_PLACE_VERTEX + 1), CSIMI_REALS(local)};
    csimi_array ends = *a;
    ends.count = 2 * a->count;
    ends.stride = sizeof(csimi_place);
    return csimi_records_sound(s, &ends, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_tree_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_tree csimi_record;
    static const csimi_part parts[] = {
        CSIMI_COUNT(link_count, tree_links), CSIMI_COUNT(block_count, coords), CSIMI_CHOICE(base_blocks, 3),
        CSIMI_FLAG(self_contact), CSIMI_CHOICE(mode, CSIMI_KINEMATIC + 1),
        CSIMI_CHOICE(modes, CSIM_MODES_MOST + 1), CSIMI_FLAG(linear), CSIMI_FLAG(anchored),
        CSIMI_COUNT(node_count, nodes), CSIMI_COUNT(number_count, modal), CSIMI_AMOUNTS(mass_damping),
        CSIMI_AMOUNTS(stiffness_damping), CSIMI_REALS(gravity), CSIMI_FLAG(reactions)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_tree_link_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_tree_link csimi_record;
    static const csimi_part parts[] = {
        CSIMI_CHOICE(joint, CSIM_TREE_JOINT_COUNT_), CSIMI_REALS(frame.position), CSIMI_TURN(frame.rotation),
        CSIMI_REALS(axis), CSIMI_AMOUNTS(mass), CSIMI_REALS(com), CSIMI_REALS(inertia),
        CSIMI_AMOUNTS(armature), CSIMI_AMOUNTS(damping), CSIMI_AMOUNTS(friction), CSIMI_REALS(lower),
        CSIMI_REALS(upper), CSIMI_AMOUNTS(soft), CSIMI_AMOUNTS(stiffness), CSIMI_AMOUNTS(rate_gain),
        CSIMI_AMOUNTS(effort), CSIMI_FLAG(bounded), CSIMI_AMOUNTS(gravity_share)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_contact_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csim_contact_info csimi_record;
    static const csimi_part parts[] = {
        CSIMI_REALS(point), CSIMI_REALS(normal), CSIMI_REALS(gap), CSIMI_REALS(impulse),
        CSIMI_REALS(normal_impulse), CSIMI_REALS(friction_impulse), CSIMI_REALS(slip),
        CSIMI_CHOICE(state, CSIM_CONTACT_SLIP + 1), CSIMI_FLAG(began), CSIMI_AMOUNTS(coming)};
    int i;
    for (i = 0; i < a->count; i++) {
        csim_body_id id[2];
        const unsigned char *record = a->at + a->stride * (size_t)i;
        CSIMI_MEMCPY(id, record + offsetof(csim_contact_info, body_a), sizeof *id);
        CSIMI_MEMCPY(id + 1, record + offsetof(csim_contact_info, body_b), sizeof *id);
        if (id[0].index1 - 1u >= (uint32_t)s->n->bodies || id[1].index1 - 1u >= (uint32_t)s->n->bodies)
            return csimi_unsound(s, a->name, i, "body_a, body_b", (double)id[0].index1, "bodies of the snapshot");
    }
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

/* Their bodies may be gone: what reads them looks. A saved shape that is none of its body's ends in the next step. */
static bool csimi_touch_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csim_touch_event csimi_record;
    static const csimi_part parts[] = {CSIMI_FLAG(bodies)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

/* ---- plain arrays */

/* The numbers of each item from `first` on. */
static bool csimi_reals_sound(const csimi_staged *s, const csimi_array *a, csimi_part_kind kind, int first) {
    csimi_part part;
    part.name = "";
    part.at = sizeof(csim_real) * (size_t)first;
    part.bytes = a->stride - part.at;
    part.kind = kind;
    part.most = 0;
    return csimi_records_sound(s, a, &part, 1);
}
static bool csimi_finite_sound(const csimi_staged *s, const csimi_array *a) {
    return csimi_reals_sound(s, a, CSIMI_PART_REALS, 0);
}
static bool csimi_amount_sound(const csimi_staged *s, const csimi_array *a) {
    return csimi_reals_sound(s, a, CSIMI_PART_AMOUNTS, 0);
}
static bool csimi_turn_sound(const csimi_staged *s, const csimi_array *a) { /* the last four of each item */
    const int per = (int)(a->stride / sizeof(csim_real));
    return csimi_finite_sound(s, a) && csimi_reals_sound(s, a, CSIMI_PART_TURN, per - 4);
}

/* Lengths, volumes: the first number of each item is above 0, too. */
static bool csimi_extent_sound(const csimi_staged *s, const csimi_array *a) {
    int i;
    if (!csimi_finite_sound(s, a)) return false;
    for (i = 0; i < a->count; i++) {
        const csim_real x = csimi_real_in(a->at + a->stride * (size_t)i, 0);
        if (!(x > 0)) return csimi_unsound(s, a->name, i, "", (double)x, "above 0");
    }
    return true;
}

static bool csimi_double_sound(const csimi_staged *s, const csimi_array *a) {
    int i;
    for (i = 0; i < a->count; i++) {
        double x;
        CSIMI_READ(double, a->at, i, &x);
        if (!(x > -1e300 && x < 1e300)) return csimi_unsound(s, a->name, i, "", x, "finite numbers");
    }
    return true;
}

static bool csimi_bytes_below(const csimi_staged *s, const csimi_array *a, int end) {
    int i;
    for (i = 0; i < a->count; i++)
        if (a->at[i] >= end) return csimi_outside(s, a->name, i, "", a->at[i], 0, end - 1);
    return true;
}
static bool csimi_mode_sound(const csimi_staged *s, const csimi_array *a) {
    return csimi_bytes_below(s, a, CSIMI_KINEMATIC + 1);
}
static bool csimi_material_sound(const csimi_staged *s, const csimi_array *a) {
    return csimi_bytes_below(s, a, CSIM_MATERIAL_COUNT_);
}

/* The ints of `count` items from `first` on, `per` an item, are low..high. */
static bool csimi_ints_within(const csimi_staged *s, const char *name, const unsigned char *array, int per, int first,
                              int count, int low, int high) {
    int i;
    for (i = first * per; i < (first + count) * per; i++) {
        const int x = csimi_int_in(array, i);
        if (x < low || x > high) return csimi_outside(s, name, i / per, "", x, low, high);
    }
    return true;
}

#define CSIMI_INDEX_RULE(of, low, axis)                                                    \
    static bool csimi_##of##_sound(const csimi_staged *s, const csimi_array *a) {           \
        const int per = (int)(a->stride / sizeof(int));                                     \
        return csimi_ints_within(s, a->name, a->at, per, 0, a->count, low, s->n->axis - 1); \
    }
CSIMI_INDEX_RULE(slot, 0, bodies)
CSIMI_INDEX_RULE(node, 0, nodes)
CSIMI_INDEX_RULE(any_node, -1, nodes)
CSIMI_INDEX_RULE(link_slot, 0, links)
CSIMI_INDEX_RULE(tree_index, 0, trees)
CSIMI_INDEX_RULE(any_tree, -1, trees)
#undef CSIMI_INDEX_RULE

/* Slots of live bodies, in front of what is left of others. */
static bool csimi_live_slot_sound(const csimi_staged *s, const csimi_array *a) {
    csimi_array live = *a;
    live.count = s->live_bodies;
    return csimi_slot_sound(s, &live);
}

/* Anything will do: ids are compared and never looked up; and what the walk over the bodies compares in full. */
static bool csimi_kept_sound(const csimi_staged *s, const csimi_array *a) {
    typedef csimi_kept csimi_record;
    static const csimi_part parts[] = {
        CSIMI_REALS(pose), CSIMI_REALS(arm), CSIMI_REALS(pulse), CSIMI_REALS(gap), CSIMI_REALS(sag)};
    return csimi_records_sound(s, a, parts, CSIMI_COUNT_OF(parts));
}

static bool csimi_id_sound(const csimi_staged *s, const csimi_array *a) {
    (void)s;
    (void)a;
    return true;
}
static bool csimi_own_sound(const csimi_staged *s, const csimi_array *a) { return csimi_id_sound(s, a); }

/* ---- what arrays say about each other */

CSIMI_FN const unsigned char *csimi_staged_at(const csimi_staged *s, size_t member) {
    size_t at = 0;
#define CSIMI_X(axis, type, name, per, holds)                        \
    if (member == offsetof(csimi_store, name)) return s->bytes + at; \
    at += sizeof(type) * (size_t)s->n->axis * (size_t)(per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return NULL;
}
#define CSIMI_AT CSIMI_STAGED_AT

static bool csimi_arrays_sound(const csimi_staged *s) {
    csimi_array a;
    a.at = s->bytes;
#define CSIMI_X(axis, type, member, per, holds)      \
    a.name = #member;                                \
    a.count = s->n->axis;                            \
    a.stride = sizeof(type) * (size_t)(per);         \
    if (!csimi_##holds##_sound(s, &a)) return false; \
    a.at += a.stride * (size_t)a.count;
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return true;
}

static bool csimi_body_says(const csimi_staged *s, int slot, const char *part, long value, long wanted) {
    char text[48];
    if (value == wanted) return true;
    csimi_append_int(text, sizeof text, csimi_append_text(text, sizeof text, 0, "what the others say: "), wanted);
    return csimi_unsound(s, "body", slot, part, (double)value, text);
}

/* Bodies stand in the arrays zone by zone (bed.c), inside them in the order of their list, without gaps; clamps may
   stand between the bends of cables, and rigid bodies in any order. */
static bool csimi_body_begins(const csimi_staged *s, int slot, const csimi_body *b, csimi_counts *at) {
    static const unsigned has[CSIM_BODY_KIND_COUNT_] = {
        1, 2, 1 | 4 | 16 | 32, 1 | 16 | 64 | 128, 1 | 8 | 16 | 32, 2, 1 | 16 | 32};
    const unsigned mine = has[b->kind];
#define CSIMI_RANGE(bit, axis, first, count)                                                                   \
    if (!csimi_body_says(s, slot, #first, b->first, at->axis)) return false;                                   \
    if (b->count < 0 || b->count > (mine & (bit) ? s->n->axis - at->axis : 0))                                 \
        return csimi_outside(s, "body", slot, #count, b->count, 0, mine & (bit) ? s->n->axis - at->axis : 0L); \
    at->axis += b->count;
    CSIMI_RANGE(1, nodes, first_node, node_count)
    CSIMI_RANGE(4, tets, first_tet, tet_count)
    CSIMI_RANGE(8, membranes, first_membrane, membrane_count)
    CSIMI_RANGE(64, frames, first_frame, frame_count)
    if (b->bend_count < 0 || b->bend_count > (mine & 128u ? s->n->bends : 0))
        return csimi_outside(s, "body", slot, "bend_count", b->bend_count, 0, mine & 128u ? s->n->bends : 0);
    if (b->first_bend < (b->bend_count ? at->bends : 0) || b->first_bend > s->n->bends - b->bend_count)
        return csimi_outside(s, "body", slot, "first_bend", b->first_bend, at->bends, s->n->bends - b->bend_count);
    if (b->bend_count) at->bends = b->first_bend + b->bend_count;
    if (b->kind == CSIM_RIGID ? b->rigid < 0 || b->rigid >= s->n->rigids : b->rigid != -1)
        return csimi_outside(s, "body", slot, "rigid", b->rigid, 0, b->kind == CSIM_RIGID ? s->n->rigids - 1L : -1L);
    at->rigids += b->kind == CSIM_RIGID; /* each is said to be its body's: csimi_body_rigid */
    return csimi_body_says(s, slot, "tree", b->tree,
                           b->kind == CSIM_BODY_TREE || b->kind == CSIM_BODY_REDUCED ? at->trees++ : -1);
}

/* What stays in the order of the list, whoever sleeps; shapes, each body's together, in any order. */
static bool csimi_body_parts_begin(const csimi_staged *s, int slot, const csimi_body *b, csimi_counts *at) {
    static const unsigned has[CSIM_BODY_KIND_COUNT_] = {0, 2, 16 | 32, 16, 16 | 32, 2, 16 | 32};
    const unsigned mine = has[b->kind];
    if (b->shape_count < 0 || b->shape_count > (mine & 2u ? s->n->shapes - at->shapes : 0))
        return csimi_outside(s, "body", slot, "shape_count", b->shape_count, 0,
                             mine & 2u ? s->n->shapes - at->shapes : 0L);
    if (b->first_shape < 0 || b->first_shape > (b->shape_count > 0 ? s->n->shapes - b->shape_count : 0))
        return csimi_outside(s, "body", slot, "first_shape", b->first_shape, 0,
                             b->shape_count > 0 ? s->n->shapes - b->shape_count : 0L);
    at->shapes += b->shape_count; /* each is said to be its body's: csimi_body_shapes */
    CSIMI_RANGE(16, surface, first_surface, surface_count)
    CSIMI_RANGE(32, triangles, first_triangle, triangle_count)
#undef CSIMI_RANGE
    return true;
}

/* Numbers of the parts of one body against each other. */
static bool csimi_body_counts(const csimi_staged *s, int slot, const csimi_body *b) {
    const int open = b->closed ? 0 : 1, blocks = b->node_count;
    int least = 0, most = 0;
    switch (b->kind) {
    case CSIM_PARTICLE:
        if (!csimi_body_says(s, slot, "node_count", b->node_count, 1)) return false;
        least = most = 1;
        break;
    case CSIM_RIGID: least = most = 4; break;
    case CSIM_SOFT:
        if (b->node_count < 4 || b->tet_count < 1 || b->surface_count < 4 || b->triangle_count < 4)
            return csimi_unsound(s, "body", slot, "tet_count", b->tet_count, "a solid with a surface");
        least = blocks;
        most = blocks + csimi_imin(b->tet_count, INT32_MAX / 16) * 12;
        break;
    case CSIM_BODY_CABLE:
        if (b->frame_count < (open ? 1 : 3) || (b->closed && (b->clamped[0] || b->clamped[1])))
            return csimi_unsound(s, "body", slot, "frame_count", b->frame_count,
                                 "an edge; a ring: three, and no clamps");
        if (!csimi_body_says(s, slot, "node_count", b->node_count, b->frame_count + open) ||
            !csimi_body_says(s, slot, "surface_count", b->surface_count, b->node_count) ||
            !csimi_body_says(s, slot, "bend_count", b->bend_count,
                             b->frame_count - open + b->clamped[0] + b->clamped[1]))
            return false;
        least = most = blocks + 7 * b->frame_count + 2 * b->bend_count;
        break;
    case CSIM_BODY_CLOTH:
        if (b->node_count < 3 || b->membrane_count < 1)
            return csimi_unsound(s, "body", slot, "membrane_count", b->membrane_count, "a triangle at least");
        if (!csimi_body_says(s, slot, "triangle_count", b->triangle_count, b->membrane_count) ||
            !csimi_body_says(s, slot, "surface_count", b->surface_count, b->node_count))
            return false;
        least = blocks;
        most = blocks + csimi_imin(b->membrane_count, INT32_MAX / 32) * 30;
        break;
    case CSIM_BODY_REDUCED:
        if (b->triangle_count < 1)
            return csimi_unsound(s, "body", slot, "triangle_count", b->triangle_count, "a surface");
        if (!csimi_body_says(s, slot, "surface_count", b->surface_count, b->node_count)) return false;
        return true; /* csimi_tree_blocks */
    case CSIM_BODY_TREE: return true;
    case CSIM_BODY_KIND_COUNT_: break;
    }
    if (b->matrix_blocks < least || b->matrix_blocks > most)
        return csimi_outside(s, "body", slot, "matrix_blocks", b->matrix_blocks, least, most);
    return true;
}

static bool csimi_body_nodes(const csimi_staged *s, int slot, const csimi_body *b) {
    const unsigned char *body, *user, *mass, *of_user, *aggregate, *tree;
    const bool grouped = b->kind == CSIM_SOFT || b->kind == CSIM_BODY_CLOTH;
    int i, last = 0;
    if (b->aggregate_count < (grouped ? 1 : 0) || b->aggregate_count > (grouped ? b->node_count : 0))
        return csimi_outside(s, "body", slot, "aggregate_count", b->aggregate_count, grouped,
                             grouped ? b->node_count : 0);
    if (b->node_count == 0) return true;
    body = CSIMI_AT(s, node_body), user = CSIMI_AT(s, node_user), mass = CSIMI_AT(s, state.node_mass);
    of_user = CSIMI_AT(s, node_of_user), aggregate = CSIMI_AT(s, node_aggregate), tree = CSIMI_AT(s, state.node_tree);
    for (i = b->first_node; i < b->first_node + b->node_count; i++) {
        const int mine = csimi_int_in(user, i), group = csimi_int_in(aggregate, i);
        if (csimi_int_in(body, i) != slot)
            return csimi_unsound(s, "node_body", i, "", csimi_int_in(body, i), "its body");
        if (mine < 0 || mine >= b->node_count || csimi_int_in(of_user, b->first_node + mine) != i - b->first_node)
            return csimi_unsound(s, "node_user", i, "", mine, "each vertex once, and node_of_user its inverse");
        if (grouped ? group < last || group >= b->aggregate_count : group < -1 || group > 0)
            return csimi_outside(s, "node_aggregate", i, "", group, grouped ? last : -1,
                                 grouped ? b->aggregate_count - 1 : 0);
        last = grouped ? group : 0;
        if (csimi_int_in(tree, i) != (b->kind == CSIM_BODY_REDUCED ? b->tree : -1))
            return csimi_unsound(s, "state.node_tree", i, "", csimi_int_in(tree, i),
                                 "the tree of its reduced body, else -1");
        if (b->kind != CSIM_BODY_REDUCED && !csimi_weighs((double)csimi_real_in(mass, i)))
            return csimi_unsound(s, "state.node_mass", i, "", (double)csimi_real_in(mass, i), CSIMI_MASSES);
    }
    return true;
}

/* The elements and the surface of a body of nodes refer to its own nodes alone. */
static bool csimi_body_elements(const csimi_staged *s, const csimi_body *b) {
    const unsigned char *tet, *membrane, *beyond;
    const int first = b->first_node, last = first + b->node_count - 1;
    int i, j, k;
    if (b->tet_count + b->membrane_count + b->surface_count + b->triangle_count == 0) return true;
    tet = CSIMI_AT(s, state.tet), membrane = CSIMI_AT(s, state.membrane), beyond = CSIMI_AT(s, state.membrane_beyond);
    if (!csimi_ints_within(s, "state.tet", tet, 4, b->first_tet, b->tet_count, first, last) ||
        !csimi_ints_within(s, "state.membrane", membrane, 3, b->first_membrane, b->membrane_count, first, last) ||
        !csimi_ints_within(s, "surface_node", CSIMI_AT(s, surface_node), 1, b->first_surface, b->surface_count, first,
                           last) ||
        !csimi_ints_within(s, "triangle", CSIMI_AT(s, triangle), 3, b->first_triangle, b->triangle_count, 0,
                           b->node_count - 1) ||
        !csimi_ints_within(s, "face", CSIMI_AT(s, face), 3, b->first_triangle, b->triangle_count, 0,
                           b->surface_count - 1) ||
        !csimi_ints_within(s, "face_triangle", CSIMI_AT(s, face_triangle), 1, b->first_triangle, b->triangle_count, 0,
                           b->triangle_count - 1))
        return false;
    for (i = 3 * b->first_membrane; i < 3 * (b->first_membrane + b->membrane_count); i++)
        if (csimi_int_in(beyond, i) != -1 && (csimi_int_in(beyond, i) < first || csimi_int_in(beyond, i) > last))
            return csimi_outside(s, "state.membrane_beyond", i, "", csimi_int_in(beyond, i), first, last);
    for (i = b->first_tet; i < b->first_tet + b->tet_count; i++)
        for (j = 0; j < 4; j++)
            for (k = 0; k < j; k++)
                if (csimi_int_in(tet, 4 * i + j) == csimi_int_in(tet, 4 * i + k))
                    return csimi_unsound(s, "state.tet", i, "", csimi_int_in(tet, 4 * i + j), "four nodes, each once");
    return true;
}

/* A bend element between two frames of the snapshot, -1: the world. */
static bool csimi_bend_is(const csimi_staged *s, int i, int before, int after) {
    csimi_bend bend;
    CSIMI_READ(csimi_bend, CSIMI_AT(s, state.bend), i, &bend);
    return (bend.end[0].frame == before && bend.end[1].frame == after && bend.end[0].rigid < 0 &&
            bend.end[1].rigid < 0) ||
           csimi_unsound(s, "state.bend", i, "end.frame", bend.end[0].frame, "neighbours of a cable, in their order");
}

static bool csimi_body_edges(const csimi_staged *s, int slot, const csimi_body *b) {
    const unsigned char *body, *node;
    const int first = b->first_frame, last = first + b->frame_count - 1;
    int i, bend = b->first_bend;
    if (b->frame_count == 0) return true;
    body = CSIMI_AT(s, frame_body), node = CSIMI_AT(s, state.edge_node);
    for (i = 0; i < b->frame_count; i++) {
        if (csimi_int_in(body, first + i) != slot)
            return csimi_unsound(s, "frame_body", first + i, "", csimi_int_in(body, first + i), "its body");
        if (csimi_int_in(node, 2 * (first + i)) != b->first_node + i ||
            csimi_int_in(node, 2 * (first + i) + 1) != b->first_node + (i + 1) % b->node_count)
            return csimi_unsound(s, "state.edge_node", first + i, "", csimi_int_in(node, 2 * (first + i)),
                                 "the nodes of a cable in their order");
    }
    if (b->clamped[0] && !csimi_bend_is(s, bend++, -1, first)) return false;
    for (i = b->closed ? 0 : 1; i < b->frame_count; i++)
        if (!csimi_bend_is(s, bend++, i ? first + i - 1 : last, first + i)) return false;
    return !b->clamped[1] || csimi_bend_is(s, bend, last, -1);
}

static bool csimi_body_shapes(const csimi_staged *s, int slot, const csimi_body *b, int links) {
    const unsigned char *body = CSIMI_AT(s, shape_body), *link = CSIMI_AT(s, shape_link), *shape = CSIMI_AT(s, shape);
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        const int on = csimi_int_in(link, i);
        csim_geometry g;
        CSIMI_READ(csim_geometry, shape, i, &g);
        if (csimi_int_in(body, i) != slot)
            return csimi_unsound(s, "shape_body", i, "", csimi_int_in(body, i), "its body");
        if (on < (links ? 0 : -1) || on >= links)
            return csimi_outside(s, "shape_link", i, "", on, links ? 0 : -1, links - 1L);
        if (csimi_only_static(g.kind) && (b->motion != CSIM_STATIC || links))
            return csimi_unsound(s, "shape", i, "kind", (double)(int)g.kind,
                                 "half-spaces and heights on static bodies only");
    }
    return true;
}

static bool csimi_body_rigid(const csimi_staged *s, int slot, const csimi_body *b) {
    csim_real I[9];
    int k;
    if (b->rigid < 0) return true;
    if (csimi_int_in(CSIMI_AT(s, rigid_body), b->rigid) != slot)
        return csimi_unsound(s, "rigid_body", b->rigid, "", csimi_int_in(CSIMI_AT(s, rigid_body), b->rigid),
                             "its body");
    if (CSIMI_AT(s, state.rigid_mode)[b->rigid] != csimi_mode_of(b->motion))
        return csimi_outside(s, "state.rigid_mode", b->rigid, "", CSIMI_AT(s, state.rigid_mode)[b->rigid],
                             csimi_mode_of(b->motion), csimi_mode_of(b->motion));
    for (k = 0; k < 9; k++) I[k] = csimi_real_in(CSIMI_AT(s, state.inertia), 9 * b->rigid + k);
    return b->motion != CSIM_DYNAMIC || csimi_rigid_weighs(csimi_real_in(CSIMI_AT(s, state.rigid_mass), b->rigid), I) ||
           csimi_unsound(s, "state.inertia", b->rigid, "", (double)I[0], CSIMI_MASSES);
}

/* ---- trees */

/* Of link i of a tree, by offset: the walks below read nothing else. */
static int csimi_link_int(const csimi_staged *s, int link, size_t member) {
    int x;
    CSIMI_MEMCPY(&x, CSIMI_AT(s, state.tree_link) + sizeof(csimi_tree_link) * (size_t)link + member, sizeof x);
    return x;
}
#define CSIMI_LINK_INT(s, link, member) csimi_link_int(s, link, offsetof(csimi_tree_link, member))

static int csimi_limb_at(const csimi_staged *s, const csimi_tree *tree, int block) {
    return csimi_int_in(CSIMI_AT(s, state.coord_limb), 2 * (tree->first_block + block));
}

/* Blocks that the coordinates [coord, coord + count) of a link lie in belong to one limb: its number, or -1. */
static int csimi_limb_of_link(const csimi_staged *s, const csimi_tree *tree, int coord, int count) {
    int k, limb;
    if (coord < 0 || coord > 3 * tree->block_count - count) return -1;
    limb = csimi_limb_at(s, tree, coord / 3);
    for (k = coord / 3 + 1; k <= (coord + count - 1) / 3; k++)
        if (csimi_limb_at(s, tree, k) != limb || (k < tree->base_blocks) != (coord / 3 < tree->base_blocks)) return -1;
    return limb;
}

/* Blocks of the coordinates from a link up to the root, each once. */
static int csimi_staged_terms(const csimi_staged *s, const csimi_tree *tree, int link) {
    int above, below, k, terms = 0;
    for (above = link; above >= 0 && terms <= CSIMI_PLACE_TERMS;
         above = CSIMI_LINK_INT(s, tree->first_link + above, parent)) {
        const int dofs = CSIMI_LINK_INT(s, tree->first_link + above, dofs);
        const int coord = CSIMI_LINK_INT(s, tree->first_link + above, coord);
        for (k = coord / 3; dofs > 0 && k <= (coord + dofs - 1) / 3; k++) {
            for (below = link; below != above; below = CSIMI_LINK_INT(s, tree->first_link + below, parent)) {
                const int d = CSIMI_LINK_INT(s, tree->first_link + below, dofs);
                const int c = CSIMI_LINK_INT(s, tree->first_link + below, coord);
                if (d > 0 && c / 3 <= k && (c + d - 1) / 3 >= k) break;
            }
            terms += below == above;
        }
    }
    return terms;
}

/* A link's coordinates lie in the base or, with those above it, in one limb: A has room for nothing else. */
static bool csimi_tree_link_stands(const csimi_staged *s, int t, const csimi_tree *tree, int i, int *dof,
                                   int *position) {
    static const int positions[7] = {0, 1, 0, 4, 0, 0, 7};
    csimi_tree_link l;
    int above, limb = 0, count;
    CSIMI_READ(csimi_tree_link, CSIMI_AT(s, state.tree_link), tree->first_link + i, &l);
    if (l.parent < (i ? 0 : -1) || l.parent >= i)
        return csimi_outside(s, "state.tree_link", tree->first_link + i, "parent", l.parent, i ? 0 : -1, i - 1L);
    if (l.tree != t) return csimi_unsound(s, "state.tree_link", tree->first_link + i, "tree", l.tree, "its tree");
    if (l.dofs != csimi_tree_dofs(l.joint) || l.dof != *dof || l.position != *position ||
        (l.joint == CSIM_TREE_FLOATING && i > 0))
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "dofs", l.dofs, "what its joint has");
    if ((l.dofs != 1 && (l.lower <= l.upper || l.friction > 0 || l.effort > 0)) || (l.effort > 0 && l.slack < 0) ||
        (l.dofs == 6 && (l.stiffness > 0 || l.rate_gain > 0 || l.gravity_share > 0)) || (l.dofs == 6 && l.armature > 0))
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "effort", (double)l.effort,
                             "limits, friction and drives that its joint may have");
    *dof += l.dofs;
    *position += positions[l.dofs];
    if (l.slack != -1 && (l.slack != l.coord + l.dofs || l.dofs != 1))
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "slack", l.slack,
                             "-1, or behind its coordinate");
    if (l.yield != -1 && (l.yield != l.coord + l.dofs + (l.slack >= 0) || l.dofs != 1))
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "yield", l.yield,
                             "-1, or behind its coordinate");
    count = l.dofs + (l.slack >= 0) + (l.yield >= 0);
    if (count > 0) limb = csimi_limb_of_link(s, tree, l.coord, count);
    if (limb < 0 || (count == 0 && (l.coord < 0 || l.coord > 3 * tree->block_count)))
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "coord", l.coord, "in blocks of one limb");
    for (above = l.parent; above >= 0 && CSIMI_LINK_INT(s, tree->first_link + above, dofs) == 0;)
        above = CSIMI_LINK_INT(s, tree->first_link + above, parent);
    if (count > 0 && above >= 0 && l.coord / 3 >= tree->base_blocks) {
        const int at = CSIMI_LINK_INT(s, tree->first_link + above, coord) / 3;
        if (at >= tree->base_blocks && csimi_limb_at(s, tree, at) != limb)
            return csimi_unsound(s, "state.tree_link", tree->first_link + i, "coord", l.coord,
                                 "in the limb it hangs on");
    }
    if (l.terms != csimi_staged_terms(s, tree, i) || l.terms > CSIMI_PLACE_TERMS)
        return csimi_unsound(s, "state.tree_link", tree->first_link + i, "terms", l.terms,
                             "blocks up to the root, at most 10");
    return true;
}

/* Limbs are numbered in order, the base is limb 0; returns the stored blocks of A, or -1. */
static long csimi_tree_limbs(const csimi_staged *s, int t, const csimi_tree *tree) {
    const unsigned char *limb = CSIMI_AT(s, state.coord_limb), *of = CSIMI_AT(s, coord_tree);
    const long base = tree->base_blocks;
    long blocks = base * base, run = 0;
    int i, last = 0;
    for (i = 0; i < tree->block_count; i++) {
        const int at = tree->first_block + i, mine = csimi_int_in(limb, 2 * at), used = csimi_int_in(limb, 2 * at + 1);
        if (csimi_int_in(of, at) != t || used < 1 || used > 3 || mine < last || mine > tree->block_count + 1000 ||
            (i < base ? mine != 0 : base > 0 && mine == 0)) {
            csimi_unsound(s, "state.coord_limb", at, "", mine, "limbs of its tree, in order");
            return -1;
        }
        run = i > base && mine == last ? run + 1 : 1;
        if (i >= base) blocks += 2 * run - 1 + 2 * base; /* another row and column of its limb, and of the base */
        last = mine;
    }
    return blocks;
}

static bool csimi_tree_stands(const csimi_staged *s, int slot, const csimi_body *b, csimi_counts *at) {
    const bool reduced = b->kind == CSIM_BODY_REDUCED;
    int i, dof = 0, position = 0;
    csimi_tree tree;
    long blocks;
    CSIMI_READ(csimi_tree, CSIMI_AT(s, state.tree), b->tree, &tree);
    if (csimi_int_in(CSIMI_AT(s, tree_body), b->tree) != slot)
        return csimi_unsound(s, "tree_body", b->tree, "", csimi_int_in(CSIMI_AT(s, tree_body), b->tree), "its body");
    if (tree.first_link != at->tree_links || tree.link_count < 1 ||
        tree.link_count > s->n->tree_links - at->tree_links || tree.link_count > (reduced ? 1 : 1000))
        return csimi_unsound(s, "state.tree", b->tree, "first_link", tree.first_link, "behind the tree before it");
    if (tree.first_block != at->coords || tree.block_count > s->n->coords - at->coords ||
        tree.base_blocks > tree.block_count)
        return csimi_unsound(s, "state.tree", b->tree, "first_block", tree.first_block, "behind the tree before it");
    if ((tree.modes > 0) != reduced || tree.mode != csimi_mode_of(b->motion) ||
        (reduced &&
         (tree.first_node != b->first_node || tree.base_blocks != 2 || tree.block_count != 2 + (tree.modes + 2) / 3)) ||
        tree.node_count != (reduced ? b->node_count : 0))
        return csimi_unsound(s, "state.tree", b->tree, "modes", tree.modes, "what its body is");
    if (reduced && (tree.first_number != at->modal || b->node_count > 20000000 ||
                    tree.number_count != (int)(csimi_modal_constants(tree.modes, tree.linear) +
                                               3 * (size_t)b->node_count * (1 + (size_t)tree.modes))))
        return csimi_unsound(s, "state.tree", b->tree, "number_count", tree.number_count, "the numbers of its modes");
    if (!reduced && tree.number_count != 0)
        return csimi_unsound(s, "state.tree", b->tree, "number_count", tree.number_count, "0");
    if ((blocks = csimi_tree_limbs(s, b->tree, &tree)) < 0) return false;
    if (!csimi_body_says(s, slot, "matrix_blocks", b->matrix_blocks, blocks + (reduced ? b->node_count : 0)))
        return false;
    for (i = 0; i < tree.link_count; i++)
        if (!csimi_tree_link_stands(s, b->tree, &tree, i, &dof, &position)) return false;
    if (reduced && CSIMI_LINK_INT(s, tree.first_link, joint) != (int)CSIM_TREE_FLOATING)
        return csimi_unsound(s, "state.tree_link", tree.first_link, "joint", -1, "floating, under a reduced body");
    if (dof != tree.dof_count || position != tree.position_count)
        return csimi_unsound(s, "state.tree", b->tree, "dof_count", tree.dof_count, "the sum over its links");
    at->tree_links += tree.link_count;
    at->coords += tree.block_count;
    at->modal += tree.number_count;
    at->tree_span = csimi_imax(at->tree_span, tree.block_count);
    return csimi_body_shapes(s, slot, b, reduced ? 0 : tree.link_count);
}

/* ---- bodies and lists of free slots */

/* What bodies say of their sleep: only free ones do; ends of a link, and the round of an island, sleep together. */
static bool csimi_body_rests(const csimi_staged *s, int slot, const csimi_body *b) {
    csimi_rest next;
    if (!b->rest.asleep) return true;
    if (b->motion != CSIM_DYNAMIC)
        return csimi_unsound(s, "body", slot, "rest.asleep", 1, "0 for bodies that are not dynamic");
    if (b->rest.ring < 0 || b->rest.ring >= s->n->bodies)
        return csimi_outside(s, "body", slot, "rest.ring", b->rest.ring, 0, s->n->bodies - 1L);
    CSIMI_MEMCPY(&next, CSIMI_AT(s, body) + sizeof(csimi_body) * (size_t)b->rest.ring + offsetof(csimi_body, rest),
                 sizeof next);
    return next.asleep || csimi_unsound(s, "body", slot, "rest.ring", b->rest.ring, "a body asleep");
}

static bool csimi_body_stands(const csimi_staged *s, int slot, csimi_counts *at) {
    csimi_body b;
    CSIMI_READ(csimi_body, CSIMI_AT(s, body), slot, &b);
    if (!b.alive) return csimi_unsound(s, "body_list", -1, "", slot, "slots of live bodies, each once");
    if (csimi_check_surface(NULL, "csim_world_restore", &b.surface))
        return csimi_unsound(s, "body", slot, "surface", (double)b.surface.friction, "what a definition may hold");
    if (!csimi_body_rests(s, slot, &b) || !csimi_body_begins(s, slot, &b, at) || !csimi_body_counts(s, slot, &b) ||
        !csimi_body_nodes(s, slot, &b) || !csimi_body_elements(s, &b) || !csimi_body_edges(s, slot, &b) ||
        !csimi_body_rigid(s, slot, &b))
        return false;
    if (b.tree >= 0 ? !csimi_tree_stands(s, slot, &b, at) : !csimi_body_shapes(s, slot, &b, 0)) return false;
    at->aggregates += b.aggregate_count; /* at most nodes */
    if (b.matrix_blocks < 0 || b.matrix_blocks > s->n->matrix_blocks - at->matrix_blocks)
        return csimi_outside(s, "body", slot, "matrix_blocks", b.matrix_blocks, 0,
                             s->n->matrix_blocks - at->matrix_blocks);
    at->matrix_blocks += b.matrix_blocks;
    return true;
}

/* A list of `count` free slots that ends after all of them: no slot twice, none that lives. */
static bool csimi_free_list_sound(const csimi_staged *s, const char *name, const unsigned char *record, size_t stride,
                                  size_t alive, size_t next, int slots, int slot, int count) {
    int i;
    for (i = 0; i < count; i++) {
        if (slot < 0 || slot >= slots) return csimi_outside(s, name, -1, "free slot", slot, 0, slots - 1L);
        if (record[stride * (size_t)slot + alive]) return csimi_unsound(s, name, slot, "next_free", slot, "free slots");
        CSIMI_MEMCPY(&slot, record + stride * (size_t)slot + next, sizeof slot);
    }
    return slot == -1 || csimi_unsound(s, name, -1, "free slot", slot, "-1 after the last free slot");
}

static CSIMI_NOINLINE bool csimi_bodies_sound(const csimi_staged *s, csimi_counts *at) {
    const unsigned char *list = CSIMI_AT(s, body_list);
    int i, zone, bedded = 0, asleep = 0;
    csimi_body b;
    for (i = 0; i < s->live_bodies; i++) { /* indices first: what follows trusts them */
        CSIMI_READ(csimi_body, CSIMI_AT(s, body), csimi_int_in(list, i), &b);
        if (!csimi_body_parts_begin(s, csimi_int_in(list, i), &b, at)) return false;
        bedded += b.rest.zone == CSIMI_ZONE_BED;
        asleep += b.rest.asleep;
    }
    if (bedded != s->bedded || asleep != s->asleep)
        return csimi_unsound(s, "count", -1, "asleep", s->asleep, "the sum over bodies");
    for (zone = 0; zone < CSIMI_ZONE_COUNT; zone++)
        for (i = 0; i < s->live_bodies; i++) {
            CSIMI_READ(csimi_body, CSIMI_AT(s, body), csimi_int_in(list, i), &b);
            if (b.rest.zone == zone && !csimi_body_stands(s, csimi_int_in(list, i), at)) return false;
        }
    return csimi_free_list_sound(s, "body", CSIMI_AT(s, body), sizeof(csimi_body), offsetof(csimi_body, alive),
                                 offsetof(csimi_body, next_free), s->n->bodies, s->free_body,
                                 s->n->bodies - s->live_bodies);
}

/* ---- links */

/* The slot a place is on, -1: the world; -2: no place that outlives a step. */
static int csimi_place_slot(const csimi_staged *s, const csimi_place *p) {
    int tree;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: return -1;
    case CSIMI_PLACE_NODE:
    case CSIMI_PLACE_VERTEX:
        if (p->item < 0 || p->item >= s->n->nodes) return -2;
        tree = csimi_int_in(CSIMI_AT(s, state.node_tree), p->item);
        if ((tree >= 0) != (p->kind == CSIMI_PLACE_VERTEX)) return -2;
        if (tree >= 0) {
            csimi_tree t;
            CSIMI_READ(csimi_tree, CSIMI_AT(s, state.tree), tree, &t);
            if (p->node[0] != t.block_count) return -2;
        }
        return csimi_int_in(CSIMI_AT(s, node_body), p->item);
    case CSIMI_PLACE_RIGID:
        return p->item < 0 || p->item >= s->n->rigids ? -2 : csimi_int_in(CSIMI_AT(s, rigid_body), p->item);
    case CSIMI_PLACE_LINK:
        if (p->item < 0 || p->item >= s->n->tree_links || p->node[0] != CSIMI_LINK_INT(s, p->item, terms)) return -2;
        return csimi_int_in(CSIMI_AT(s, tree_body), CSIMI_LINK_INT(s, p->item, tree));
    case CSIMI_PLACE_EDGE:
    case CSIMI_PLACE_FACE: break;
    }
    return -2;
}

static bool csimi_ends_stand(const csimi_staged *s, int slot, const csimi_link *l, const csimi_place *end) {
    int k;
    for (k = 0; k < 2; k++)
        if (csimi_place_slot(s, end + k) != l->body[k])
            return csimi_unsound(s, "link", slot, "body", l->body[k], "the body of its end");
    return true;
}

/* A hinge or slider that lives in a slot of links, or none and a link on a joint of one coordinate. */
static bool csimi_gear_stands(const csimi_staged *s, int slot, const csimi_place *end) {
    csimi_link l;
    csimi_joint j;
    if (slot == -1)
        return end->kind == CSIMI_PLACE_LINK && end->item >= 0 && end->item < s->n->tree_links &&
               CSIMI_LINK_INT(s, end->item, dofs) == 1;
    if (end->kind != CSIMI_PLACE_GROUND) return false;
    if (slot < 0 || slot >= s->n->links) return false;
    CSIMI_READ(csimi_link, CSIMI_AT(s, link), slot, &l);
    if (!l.alive || l.kind != CSIMI_JOINT || l.item < 0 || l.item >= s->n->joints) return false;
    CSIMI_READ(csimi_joint, CSIMI_AT(s, joint), l.item, &j);
    return j.kind == CSIM_JOINT_HINGE || j.kind == CSIM_JOINT_SLIDER;
}

/* The settings of axes of a joint: its own, of axes that it has. */
static bool csimi_axes_stand(const csimi_staged *s, int slot, int item, const csimi_joint *j, csimi_counts *at) {
    const bool needed = j->kind >= CSIM_JOINT_WHEEL;
    const unsigned char *at_axes;
    csim_real cone[2];
    int i, link;
    if (j->axes < (needed ? 0 : -1) || j->axes >= s->n->axes ||
        (j->axes >= 0 && (j->kind == CSIM_JOINT_GEAR || j->kind == CSIM_JOINT_ROPE)))
        return csimi_outside(s, "joint", item, "axes", j->axes, needed ? 0 : -1, s->n->axes - 1L);
    if (j->axes < 0) return true;
    at_axes = CSIMI_AT(s, axes) + sizeof(csimi_axes) * (size_t)j->axes;
    CSIMI_MEMCPY(&link, at_axes + offsetof(csimi_axes, link), sizeof link);
    CSIMI_MEMCPY(cone, at_axes + offsetof(csimi_axes, cone), sizeof cone);
    if (link != slot) return csimi_unsound(s, "axes", j->axes, "link", link, "its joint");
    if ((cone[0] > 0) != (cone[1] > 0)) return csimi_unsound(s, "axes", j->axes, "cone", 0, "both or none");
    for (i = 0; i < 2; i++)
        if (!csimi_is_turn(j->frame[i])) return csimi_unsound(s, "joint", item, "frame", 0, "unit quaternions");
    if (j->end[0].kind == CSIMI_PLACE_GROUND && j->end[1].kind == CSIMI_PLACE_GROUND)
        return csimi_unsound(s, "joint", item, "end.kind", 0, "a body");
    at->axes++;
    at->matrix_blocks += CSIMI_AXES_SLACKS;
    return true;
}

static bool csimi_joint_stands(const csimi_staged *s, int slot, const csimi_link *l, csimi_counts *at) {
    csimi_joint j;
    int k;
    CSIMI_READ(csimi_joint, CSIMI_AT(s, joint), l->item, &j);
    if (j.link != slot) return csimi_unsound(s, "joint", l->item, "link", j.link, "its link");
    if (j.lower > j.upper) return csimi_unsound(s, "joint", l->item, "lower", (double)j.lower, "at most upper");
    if (!csimi_axes_stand(s, slot, l->item, &j, at)) return false;
    for (k = 0; k < 2; k++) {
        const bool axes = j.kind == CSIM_JOINT_HINGE || j.kind == CSIM_JOINT_SLIDER || j.kind == CSIM_JOINT_WELD;
        if (j.kind == CSIM_JOINT_GEAR
                ? !csimi_gear_stands(s, j.gear[k], j.end + k) || (j.gear[k] >= 0 && j.gear[0] == j.gear[1])
                : j.gear[k] != -1)
            return csimi_unsound(s, "joint", l->item, "gear", j.gear[k], "two joints, of a gear; else -1");
        if (axes && !csimi_place_has_axes(j.end + k))
            return csimi_unsound(s, "joint", l->item, "end.kind", (double)(int)j.end[k].kind,
                                 "rigid bodies, links or the world");
        if (axes && !csimi_is_turn(j.frame[k]))
            return csimi_unsound(s, "joint", l->item, "frame", (double)j.frame[k][0], "unit quaternions");
        if (l->apart && j.end[k].kind != CSIMI_PLACE_RIGID)
            return csimi_unsound(s, "link", slot, "apart", 1, "joints between two rigid bodies");
    }
    return csimi_ends_stand(s, slot, l, j.end);
}

/* A clamp: an end of its open cable against a rigid body or the world; its bend element is none of the cable's own. */
static bool csimi_clamp_stands(const csimi_staged *s, int slot, const csimi_link *l) {
    csimi_body cable, other;
    csimi_bend bend;
    int side, rigid = -1;
    CSIMI_READ(csimi_body, CSIMI_AT(s, body), l->body[0], &cable);
    CSIMI_READ(csimi_bend, CSIMI_AT(s, state.bend), l->item, &bend);
    if (l->body[1] >= 0) {
        CSIMI_READ(csimi_body, CSIMI_AT(s, body), l->body[1], &other);
        rigid = other.kind == CSIM_RIGID ? other.rigid : -2;
    }
    side = bend.end[0].frame >= 0;
    if (cable.kind != CSIM_BODY_CABLE || cable.closed || rigid == -2 || bend.end[1 - side].rigid != -1 ||
        bend.end[1 - side].frame != cable.first_frame + (side ? cable.frame_count - 1 : 0) ||
        bend.end[side].frame != -1 || bend.end[side].rigid != rigid)
        return csimi_unsound(s, "link", slot, "item", l->item, "a bend element at an end of its open cable");
    return l->item < cable.first_bend || l->item >= cable.first_bend + cable.bend_count ||
           csimi_unsound(s, "link", slot, "item", l->item, "none of the cable's own");
}

/* One live link; adds to the blocks of A and to the numbers of its kind. */
static bool csimi_link_stands(const csimi_staged *s, int slot, const csimi_link *l, csimi_counts *at) {
    const int items[4] = {s->n->springs, s->n->joints, s->n->bends, 0}; /* by kind */
    csimi_place end[2];
    int k;
    for (k = 0; k < 2; k++) {
        const bool needed = l->kind == CSIMI_EXCLUSION || l->apart || (l->kind == CSIMI_CLAMP && k == 0);
        if (l->body[k] < (needed ? 0 : -1) || l->body[k] >= s->n->bodies)
            return csimi_outside(s, "link", slot, "body", l->body[k], needed ? 0 : -1, s->n->bodies - 1L);
        if (l->body[k] >= 0 &&
            !CSIMI_AT(s, body)[sizeof(csimi_body) * (size_t)l->body[k] + offsetof(csimi_body, alive)])
            return csimi_unsound(s, "link", slot, "body", l->body[k], "live bodies");
    }
    if (l->kind == CSIMI_EXCLUSION)
        return (l->item == -1 && l->body[0] != l->body[1]) ||
               csimi_unsound(s, "link", slot, "item", l->item, "-1, of an exclusion of two bodies");
    if (l->item < 0 || l->item >= items[l->kind])
        return csimi_outside(s, "link", slot, "item", l->item, 0, items[l->kind] - 1L);
    if (l->kind == CSIMI_SPRING) {
        at->springs++;
        CSIMI_MEMCPY(end, CSIMI_AT(s, state.spring) + 2 * sizeof *end * (size_t)l->item, sizeof end);
        if (csimi_int_in(CSIMI_AT(s, spring_link), l->item) != slot)
            return csimi_unsound(s, "spring_link", l->item, "", csimi_int_in(CSIMI_AT(s, spring_link), l->item),
                                 "its link");
        if (l->apart || !csimi_ends_stand(s, slot, l, end))
            return csimi_unsound(s, "link", slot, "apart", 1, "joints alone");
        at->matrix_blocks += csimi_spring_blocks(end);
        return true;
    }
    if (l->kind == CSIMI_JOINT) {
        at->joints++;
        return csimi_joint_stands(s, slot, l, at);
    }
    at->bends++;
    at->matrix_blocks += 2;
    return csimi_clamp_stands(s, slot, l);
}

static bool csimi_links_sound(const csimi_staged *s, csimi_counts *at) {
    int i, live = 0;
    for (i = 0; i < s->n->links; i++) {
        csimi_link l;
        CSIMI_READ(csimi_link, CSIMI_AT(s, link), i, &l);
        if (!l.alive) continue;
        live++;
        if (!csimi_link_stands(s, i, &l, at)) return false;
        if (at->matrix_blocks > s->n->matrix_blocks)
            return csimi_unsound(s, "count", -1, "matrix_blocks", s->n->matrix_blocks, "what bodies and links need");
    }
    return csimi_free_list_sound(s, "link", CSIMI_AT(s, link), sizeof(csimi_link), offsetof(csimi_link, alive),
                                 offsetof(csimi_link, next_free), s->n->links, s->free_link, s->n->links - live);
}

/* Counts that the walks have added up are those of the snapshot; nothing is left over that nobody owns. */
static bool csimi_counts_agree(const csimi_staged *s, const csimi_counts *at) {
#define CSIMI_X(axis)           \
    if (at->axis != s->n->axis) \
        return csimi_unsound(s, "count", -1, #axis, s->n->axis, "the sum over bodies and links");
    CSIMI_WORLD_AXES(CSIMI_X)
#undef CSIMI_X
    return true;
}

CSIMI_FN CSIMI_NOINLINE bool csimi_snapshot_sound(const csimi_staged *s) {
    csimi_counts at;
    int i;
    CSIMI_MEMSET(&at, 0, sizeof at);
    at.bodies = s->n->bodies; /* not added up */
    at.links = s->n->links;
    at.hulls = s->n->hulls;
    at.contacts = s->n->contacts;
    at.kept = s->n->kept > 0 ? s->n->contacts : 0; /* of every contact, or of none */
    at.ended = s->n->ended;
    at.touches = s->n->touches;
    at.slept = s->n->slept;
    at.slept_touches = s->n->slept_touches;
    at.slept_kept = s->n->slept_kept > 0 ? s->n->slept : 0;
    if (!csimi_arrays_sound(s) || !csimi_bodies_sound(s, &at)) return false;
    at.bends = 0; /* so far where the last range ended */
    for (i = 0; i < s->live_bodies; i++) {
        csimi_body b;
        CSIMI_READ(csimi_body, CSIMI_AT(s, body), csimi_int_in(CSIMI_AT(s, body_list), i), &b);
        at.bends += b.bend_count;
    }
    return csimi_links_sound(s, &at) && csimi_counts_agree(s, &at);
}

CSIMI_FN CSIMI_NOINLINE bool csimi_snapshot_fits(const csimi_staged *s, const csim_field **known, unsigned char *mark) {
    int i;
    for (i = 0; i < s->n->shapes; i++) { /* baked anew, a shape is what it was; hulls have been looked at */
        csim_geometry g, baked;
        csim_shape shape;
        CSIMI_READ(csim_geometry, CSIMI_AT(s, shape), i, &g);
        if (g.kind == CSIM_SHAPE_HULL) continue;
        CSIMI_MEMSET(&shape, 0, sizeof shape);
        shape.kind = g.kind;
        shape.local = g.local;
        shape.half = g.half;
        shape.radius = g.radius;
        shape.half_height = g.half_height;
        shape.spacing = g.spacing >= g.radius / 2 && g.spacing <= g.radius / 2 ? 0 : g.spacing; /* the default */
        shape.field = known[i];
        if (csim_shape_bake(&shape, &baked, NULL, NULL) ||
            !(csimi_abs(baked.bound - g.bound) <= CSIM_R(1e-4) * baked.bound) ||
            !(csim_length(csim_sub(baked.centre, g.centre)) <= CSIM_R(1e-4) * baked.bound))
            return csimi_unsound(s, "shape", i, "bound", (double)g.bound, "what a shape of its sizes has");
    }
    CSIMI_MEMSET(mark, 0, (size_t)s->n->bends);
    for (i = 0; i < s->n->links; i++) {
        csimi_link l;
        CSIMI_READ(csimi_link, CSIMI_AT(s, link), i, &l);
        if (!l.alive || l.kind != CSIMI_CLAMP) continue;
        if (mark[l.item]++) return csimi_unsound(s, "link", i, "item", l.item, "a bend element of its own");
    }
    return true;
}

#undef CSIMI_READ
#undef CSIMI_PART
#undef CSIMI_FLAG
#undef CSIMI_CHOICE
#undef CSIMI_INDEX
#undef CSIMI_COUNT
#undef CSIMI_REALS
#undef CSIMI_AMOUNTS
#undef CSIMI_TURN
#undef CSIMI_AT
#undef CSIMI_LINK_INT
