/* store/bed: what a step does not see. A world that sleeps, or has many static shapes, keeps the items of bodies that
   are asleep, and of static rigid bodies that no link holds on to, behind those of all others in the arrays that models
   walk over. While a step runs, the counts of the world are those of what is awake: every loop of it ends where the bed
   begins, and a pile asleep or a large level costs nothing. Before and after, the counts are of everything.

   Bodies stand in these arrays zone by zone, awake, in bed, added since, and inside a zone in the order of their list;
   rigid bodies, springs and joints, each one item, in any order. */
#include "private.h"

#ifndef CONDSIM_NO_SLEEP

/* Where every item goes, by axis: new places [count], and how many are awake. */
typedef struct csimi_bed {
#define CSIMI_X(axis) int *axis;
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    unsigned char *lies;  /* [bodies] by slot: is to lie in bed */
    unsigned char *clamp; /* [bends] 1: of a clamp */
    unsigned char *room;  /* of the largest array */
    csimi_counts day;
} csimi_bed;

static size_t csimi_bed_largest(const csimi_counts *n) {
    size_t most = 0;
#define CSIMI_X(axis, type, name, per, holds) most = csimi_most_bytes(most, sizeof(type) * (per) * (size_t)n->axis);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return most;
}

static void csimi_bed_layout(csimi_bed *bed, const csimi_counts *n, csimi_arena *arena) {
#define CSIMI_X(axis) bed->axis = CSIMI_PUSH(arena, int, n->axis);
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    bed->lies = CSIMI_PUSH(arena, unsigned char, n->bodies);
    bed->clamp = CSIMI_PUSH(arena, unsigned char, n->bends);
    bed->room = (unsigned char *)csimi_push(arena, csimi_bed_largest(n), 1);
}

CSIMI_FN size_t csimi_bed_scratch(const csimi_counts *n) {
    csimi_bed bed;
    csimi_arena arena = csimi_arena_counting();
    if (!csimi_has_bed(n)) return 0;
    csimi_bed_layout(&bed, n, &arena);
    return arena.used;
}

/* ---- who lies in bed */

/* The bodies that a link holds on to, those behind a gear too; returns how many, at most 6: two of its own and two of
   each of the joints that a gear couples. */
CSIMI_FN int csimi_link_bodies(const csimi_store *s, const csimi_link *l, int *slot) {
    int i, k, n = 0;
    for (k = 0; k < 2; k++)
        if (l->body[k] >= 0) slot[n++] = l->body[k];
    if (l->kind != CSIMI_JOINT || s->joint[l->item].kind != CSIM_JOINT_GEAR) return n;
    for (i = 0; i < 2; i++)
        for (k = 0; k < 2 && s->joint[l->item].gear[i] >= 0; k++)
            if (s->link[s->joint[l->item].gear[i]].body[k] >= 0) slot[n++] = s->link[s->joint[l->item].gear[i]].body[k];
    return n;
}

CSIMI_FN bool csimi_has_sensor(const csimi_store *s, const csimi_body *b) {
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        if (s->skin[i].sensor) return true;
    return false;
}

/* Whether static bodies go to bed. */
static bool csimi_bed_levels(const csim_world *w) {
    const csimi_store *s = &w->store;
    int i, shapes = 0;
    for (i = 0; i < w->live_bodies && shapes < CSIMI_LEVEL_SHAPES; i++)
        if (s->body[s->body_list[i]].motion == CSIM_STATIC) shapes += s->body[s->body_list[i]].shape_count;
    return w->def.can_sleep || shapes >= CSIMI_LEVEL_SHAPES;
}

/* Sensors stay up: they see what sleeps and what never moves. */
static void csimi_bed_choose(const csim_world *w, csimi_bed *bed) {
    const csimi_store *s = &w->store;
    const bool levels = csimi_bed_levels(w);
    int i, k, slot[6];
    for (i = 0; i < s->count.bodies; i++) {
        const csimi_body *b = s->body + i;
        bed->lies[i] = b->rest.asleep || (levels && b->alive && b->kind == CSIM_RIGID &&
                                          b->motion == CSIM_STATIC && !csimi_has_sensor(s, b));
    }
    for (i = 0; i < s->count.links; i++) {
        if (!s->link[i].alive || s->link[i].kind == CSIMI_EXCLUSION) continue;
        for (k = csimi_link_bodies(s, s->link + i, slot) - 1; k >= 0; k--)
            if (s->body[slot[k]].motion == CSIM_STATIC) bed->lies[slot[k]] = 0; /* a link finds it */
    }
}

/* A link lies in bed when all that it moves does. */
static bool csimi_bed_link(const csimi_store *s, const csimi_bed *bed, int link) {
    int slot[6], k, free = 0;
    for (k = csimi_link_bodies(s, s->link + link, slot) - 1; k >= 0; k--) {
        if (s->body[slot[k]].motion != CSIM_DYNAMIC) continue;
        if (!bed->lies[slot[k]]) return false;
        free++;
    }
    return free > 0;
}

/* ---- new places */

static void csimi_bed_range(int *place, int *first, int count, int *at) {
    int i;
    for (i = 0; i < count; i++) place[*first + i] = *at + i;
    *first = *at;
    *at += count;
}

static void csimi_bed_tree(csimi_store *s, csimi_bed *bed, int tree, csimi_counts *at) {
    csimi_tree *t = s->state.tree + tree;
    bed->trees[tree] = at->trees++;
    csimi_bed_range(bed->tree_links, &t->first_link, t->link_count, &at->tree_links);
    csimi_bed_range(bed->coords, &t->first_block, t->block_count, &at->coords);
    csimi_bed_range(bed->modal, &t->first_number, t->number_count, &at->modal);
}

/* Ranges of the bodies of one zone, in the order of their list; bodies learn them at once. */
static void csimi_bed_bodies(csim_world *w, csimi_bed *bed, int lies, csimi_counts *at) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < w->live_bodies; i++) {
        csimi_body *b = s->body + s->body_list[i];
        if (bed->lies[s->body_list[i]] != lies) continue;
        if (b->tree >= 0) csimi_bed_tree(s, bed, b->tree, at);
        csimi_bed_range(bed->nodes, &b->first_node, b->node_count, &at->nodes);
        csimi_bed_range(bed->tets, &b->first_tet, b->tet_count, &at->tets);
        csimi_bed_range(bed->membranes, &b->first_membrane, b->membrane_count, &at->membranes);
        csimi_bed_range(bed->frames, &b->first_frame, b->frame_count, &at->frames);
        csimi_bed_range(bed->bends, &b->first_bend, b->bend_count, &at->bends);
    }
    for (i = 0; i < s->count.links; i++) /* clamps behind the bends that cables have of their own */
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP && csimi_bed_link(s, bed, i) == (lies != 0))
            bed->bends[s->link[i].item] = at->bends++;
}

/* Items that are one each change places, the last awake with the first that is not. */
typedef bool csimi_bed_test(const csimi_store *s, const csimi_bed *bed, int item);
static bool csimi_bed_rigid(const csimi_store *s, const csimi_bed *bed, int i) { return bed->lies[s->rigid_body[i]]; }
static bool csimi_bed_spring(const csimi_store *s, const csimi_bed *bed, int i) {
    return csimi_bed_link(s, bed, s->spring_link[i]);
}
static bool csimi_bed_joint(const csimi_store *s, const csimi_bed *bed, int i) {
    return csimi_bed_link(s, bed, s->joint[i].link);
}

static bool csimi_bed_axes(const csimi_store *s, const csimi_bed *bed, int i) {
    return csimi_bed_link(s, bed, s->axes[i].link);
}

static int csimi_bed_swaps(const csimi_store *s, const csimi_bed *bed, csimi_bed_test *lies, int count, int *place) {
    int i = 0, j = count - 1, k;
    for (k = 0; k < count; k++) place[k] = k;
    for (;; i++, j--) {
        while (i <= j && !lies(s, bed, i)) i++;
        while (i <= j && lies(s, bed, j)) j--;
        if (i > j) return i;
        place[i] = j;
        place[j] = i;
    }
}

/* ---- moving */

/* Only what lies between the first and the last that moves is touched. */
static void csimi_bed_move(void *array, size_t stride, int count, const int *place, unsigned char *room) {
    unsigned char *p = (unsigned char *)array;
    int i, first = 0, last = count - 1;
    while (first <= last && place[first] == first) first++;
    while (last > first && place[last] == last) last--;
    if (first > last) return;
    CSIMI_MEMCPY(room, p + stride * (size_t)first, stride * (size_t)(last - first + 1));
    for (i = first; i <= last; i++)
        CSIMI_MEMCPY(p + stride * (size_t)place[i], room + stride * (size_t)(i - first), stride);
}

static void csimi_bed_swap_bytes(unsigned char *p, size_t stride, int i, int j) {
    unsigned char *a = p + stride * (size_t)i, *b = p + stride * (size_t)j;
    size_t k;
    for (k = 0; k < stride; k++) {
        const unsigned char t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

static void csimi_bed_swap(void *array, size_t stride, int count, const int *place) {
    int i;
    for (i = 0; i < count; i++)
        if (place[i] > i) csimi_bed_swap_bytes((unsigned char *)array, stride, i, place[i]);
}

static bool csimi_bed_stays(const int *place, int count) {
    int i;
    for (i = 0; i < count; i++)
        if (place[i] != i) return false;
    return true;
}

/* Every array of the axes in bed; false: nothing had to move. */
static bool csimi_bed_arrays(csimi_store *s, const csimi_bed *bed) {
    const int *place[CSIMI_AXES];
    int count[CSIMI_AXES], i, axis;
    size_t bytes;
    void *array;
    bool any = false;
    CSIMI_MEMSET(place, 0, sizeof place);
    CSIMI_MEMCPY(count, &s->count, sizeof count);
#define CSIMI_X(name) \
    if (!csimi_bed_stays(bed->name, s->count.name)) any = true, place[CSIMI_AXIS_##name] = bed->name;
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    for (i = 0; any && csimi_store_array(s, i, &array, &axis, &bytes); i++) {
        if (!place[axis]) continue;
        if (axis == CSIMI_AXIS_rigids || axis == CSIMI_AXIS_springs || axis == CSIMI_AXIS_joints ||
            axis == CSIMI_AXIS_axes)
            csimi_bed_swap(array, bytes, count[axis], place[axis]);
        else
            csimi_bed_move(array, bytes, count[axis], place[axis], bed->room);
    }
    return any;
}

/* ---- what names an item */

static void csimi_bed_place(const csimi_bed *bed, csimi_place *p) {
    int k;
    switch (p->kind) {
    case CSIMI_PLACE_GROUND: break;
    case CSIMI_PLACE_NODE:
    case CSIMI_PLACE_VERTEX: p->item = bed->nodes[p->item]; break;
    case CSIMI_PLACE_RIGID: p->item = bed->rigids[p->item]; break;
    case CSIMI_PLACE_LINK: p->item = bed->tree_links[p->item]; break;
    case CSIMI_PLACE_EDGE:
        p->item = bed->frames[p->item];
        for (k = 0; k < 2; k++) p->node[k] = bed->nodes[p->node[k]];
        break;
    case CSIMI_PLACE_FACE:
        for (k = 0; k < 3; k++) p->node[k] = bed->nodes[p->node[k]];
        break;
    }
}

static void csimi_bed_nodes(csimi_store *s, const csimi_bed *bed) {
    int i;
    if (csimi_bed_stays(bed->nodes, s->count.nodes)) return;
    for (i = 0; i < 4 * s->count.tets; i++) s->state.tet[i] = bed->nodes[s->state.tet[i]];
    for (i = 0; i < 3 * s->count.membranes; i++) {
        s->state.membrane[i] = bed->nodes[s->state.membrane[i]];
        if (s->state.membrane_beyond[i] >= 0) s->state.membrane_beyond[i] = bed->nodes[s->state.membrane_beyond[i]];
    }
    for (i = 0; i < s->count.surface; i++) s->surface_node[i] = bed->nodes[s->surface_node[i]];
    for (i = 0; i < 2 * s->count.frames; i++) s->state.edge_node[i] = bed->nodes[s->state.edge_node[i]];
    for (i = 0; i < s->count.trees; i++)
        if (s->state.tree[i].node_count > 0) s->state.tree[i].first_node = bed->nodes[s->state.tree[i].first_node];
}

static void csimi_bed_names(csimi_store *s, const csimi_bed *bed) {
    int i, k;
    for (i = 0; i < s->count.rigids; i++) s->body[s->rigid_body[i]].rigid = i;
    for (i = 0; i < s->count.trees; i++) s->body[s->tree_body[i]].tree = i;
    csimi_bed_nodes(s, bed);
    for (i = 0; i < s->count.nodes; i++)
        if (s->state.node_tree[i] >= 0) s->state.node_tree[i] = bed->trees[s->state.node_tree[i]];
    for (i = 0; i < s->count.tree_links; i++) s->state.tree_link[i].tree = bed->trees[s->state.tree_link[i].tree];
    for (i = 0; i < s->count.coords; i++) s->coord_tree[i] = bed->trees[s->coord_tree[i]];
    for (i = 0; i < s->count.bends; i++)
        for (k = 0; k < 2; k++) {
            csimi_bend_end *e = s->state.bend[i].end + k;
            if (e->frame >= 0) e->frame = bed->frames[e->frame];
            if (e->rigid >= 0) e->rigid = bed->rigids[e->rigid];
        }
    for (i = 0; i < s->count.springs; i++) {
        s->link[s->spring_link[i]].item = i;
        for (k = 0; k < 2; k++) csimi_bed_place(bed, s->state.spring + 2 * i + k);
    }
    for (i = 0; i < s->count.joints; i++) {
        s->link[s->joint[i].link].item = i;
        for (k = 0; k < 2; k++) csimi_bed_place(bed, s->joint[i].end + k);
    }
    for (i = 0; i < s->count.axes; i++) s->joint[s->link[s->axes[i].link].item].axes = i;
    for (i = 0; i < s->count.links; i++)
        if (s->link[i].alive && s->link[i].kind == CSIMI_CLAMP) s->link[i].item = bed->bends[s->link[i].item];
}

/* ---- the day */

static csim_real csimi_bed_skin(const csimi_store *s, const csimi_body *b) {
    csim_real most = b->surface.thickness;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++)
        most = csimi_max(most, s->skin[i].surface.thickness);
    return most;
}

/* Puts into bed what is to lie there and gets up what is not. */
static void csimi_make_bed(csim_world *w) {
    csimi_store *s = &w->store;
    csimi_arena arena = csimi_arena_in(s->scratch, s->scratch_bytes);
    csimi_counts at;
    csimi_bed bed;
    int i;
    csimi_bed_layout(&bed, &s->count, &arena);
    csimi_bed_choose(w, &bed);
    CSIMI_MEMSET(&at, 0, sizeof at);
    csimi_bed_bodies(w, &bed, 0, &at);
    at.rigids = csimi_bed_swaps(s, &bed, csimi_bed_rigid, s->count.rigids, bed.rigids);
    at.springs = csimi_bed_swaps(s, &bed, csimi_bed_spring, s->count.springs, bed.springs);
    at.joints = csimi_bed_swaps(s, &bed, csimi_bed_joint, s->count.joints, bed.joints);
    at.axes = csimi_bed_swaps(s, &bed, csimi_bed_axes, s->count.axes, bed.axes);
    s->day = s->count;
#define CSIMI_X(axis) s->day.axis = at.axis;
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    csimi_bed_bodies(w, &bed, 1, &at);
    if (csimi_bed_arrays(s, &bed)) csimi_bed_names(s, &bed);
    s->active_count = 0;
    s->bed_thickness = 0;
    for (i = 0; i < w->live_bodies; i++) {
        const int slot = s->body_list[i];
        s->body[slot].rest.zone = bed.lies[slot] ? CSIMI_ZONE_BED : CSIMI_ZONE_DAY;
        if (bed.lies[slot]) s->bed_thickness = csimi_max(s->bed_thickness, csimi_bed_skin(s, s->body + slot));
        if (!bed.lies[slot]) s->active_list[s->active_count++] = slot;
    }
    s->bedded = w->live_bodies - s->active_count;
    for (i = s->day.joints; i < s->count.joints; i++) s->joint[i].broke = false; /* no news */
    for (i = s->day.springs; i < s->count.springs; i++) s->link[s->spring_link[i]].broke = false;
    w->pattern_stale = true; /* of those that are up */
    w->bed_stale = false;
}

/* Records [from, end) of touching move by n places. */
static void csimi_shift_touches(csimi_store *s, int from, int end, int n) {
    int i;
    for (i = from; i < end && n < 0; i++) s->touch[i + n] = s->touch[i];
    for (i = end - 1; i >= from && n > 0; i--) s->touch[i + n] = s->touch[i];
}

/* Pairs that touched when they fell asleep are those that go on, before what sensors see. */
static void csimi_recall_touches(csim_world *w) {
    csimi_store *s = &w->store;
    const int n = s->count.slept_touches - csimi_sleeping_touches(w);
    int i, at = w->touches[CSIMI_ENDS] + w->touches[CSIMI_BEGINS] + w->touches[CSIMI_STAYS];
    CONDSIM_ASSERT(s->count.touches + n <= s->capacity.touches);
    csimi_shift_touches(s, at, s->count.touches, n);
    for (i = 0; i < s->count.slept_touches; i++)
        if (!csimi_touch_sleeps(s, s->slept_touch + i)) s->touch[at++] = s->slept_touch[i];
    s->count.touches += n;
    w->touches[CSIMI_STAYS] += n;
}

/* Contacts that bodies had when they fell asleep are those of their last step when they wake. */
static void csimi_recall_contacts(csim_world *w) {
    csimi_store *s = &w->store;
    const bool kept = s->count.kept == s->count.contacts && s->count.slept_kept == s->count.slept;
    int i;
    for (i = 0; i < s->count.slept; i++) {
        if (csimi_contact_sleeps(s, s->slept + i)) continue;
        CONDSIM_ASSERT(s->count.contacts < s->capacity.contacts); /* the capacity is for both */
        if (kept) s->kept[s->count.kept++] = s->slept_kept[i];
        s->contact[s->count.contacts++] = s->slept[i];
    }
    csimi_recall_touches(w);
}

CSIMI_FN void csimi_open_day(csim_world *w, csimi_counts *all) {
    csimi_store *s = &w->store;
    *all = s->count;
    s->active = s->body_list;
    s->active_count = w->live_bodies;
    if (!w->def.can_sleep && s->bedded == 0 && s->count.slept == 0 && !(w->pattern_stale && csimi_bed_levels(w)))
        return;
    if (w->bed_stale || w->pattern_stale) csimi_make_bed(w);
    s->active = s->active_list;
    s->active_count = w->live_bodies - s->bedded;
    if (w->woken > 0) csimi_recall_contacts(w);
#define CSIMI_X(axis) s->count.axis = s->day.axis;
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    csimi_sync_state(s);
}

/* The contacts, which a step that was done has written, are its own. */
CSIMI_FN void csimi_close_day(csim_world *w, const csimi_counts *all, bool done) {
    csimi_store *s = &w->store;
    const int n = s->count.touches - all->touches;
    const int end = w->touches[CSIMI_ENDS] + w->touches[CSIMI_BEGINS] + w->touches[CSIMI_STAYS];
#define CSIMI_X(axis) s->count.axis = all->axis;
    CSIMI_BED_AXES(CSIMI_X)
#undef CSIMI_X
    if (!done) {
        s->count.contacts = all->contacts;
        s->count.kept = all->kept;
        csimi_shift_touches(s, end, s->count.touches, -n);
        w->touches[CSIMI_STAYS] -= n;
        s->count.touches = all->touches;
    }
    csimi_sync_state(s);
}

/* ---- waking */

CSIMI_FN bool csimi_contact_sleeps(const csimi_store *s, const csim_contact_info *c) {
    return s->body[c->body_a.index1 - 1u].rest.asleep || s->body[c->body_b.index1 - 1u].rest.asleep;
}

/* Touching is compared, and its ids need not name bodies (intact.c). */
CSIMI_FN bool csimi_touch_sleeps(const csimi_store *s, const csim_touch_event *e) {
    const uint32_t a = e->body_a.index1 - 1u, b = e->body_b.index1 - 1u, n = (uint32_t)s->count.bodies;
    return (a < n && s->body[a].rest.asleep) || (b < n && s->body[b].rest.asleep);
}

CSIMI_FN int csimi_sleeping_touches(const csim_world *w) {
    const csimi_store *s = &w->store;
    int i, n = s->count.slept_touches;
    for (i = 0; i < s->count.slept_touches && w->woken > 0; i++) n -= !csimi_touch_sleeps(s, s->slept_touch + i);
    return n;
}

CSIMI_FN int csimi_sleeping_contacts(const csim_world *w) {
    const csimi_store *s = &w->store;
    int i, n = s->count.slept;
    for (i = 0; i < s->count.slept && w->woken > 0; i++) n -= !csimi_contact_sleeps(s, s->slept + i);
    return n;
}

/* A step that fails puts back to bed whom it woke. */
static void csimi_get_up(csim_world *w, int slot) {
    csimi_rest *r = &w->store.body[slot].rest;
    r->asleep = false;
    r->woke = true;
    r->calm = 0;
    r->stirred = (uint32_t)w->steps;
    if (w->locked) w->store.woke_list[w->store.woke_count++] = slot;
    w->woken++;
    w->asleep--;
    w->bed_stale = true;
}

CSIMI_FN void csimi_wake_island(csim_world *w, int slot) {
    const csimi_body *body = w->store.body;
    int i = slot;
    while (body[i].rest.asleep) {
        csimi_get_up(w, i);
        i = body[i].rest.ring;
    }
}

/* What lies on a body that is not asleep itself, or hangs on it. */
static void csimi_wake_partners(csim_world *w, int slot) {
    const csimi_store *s = &w->store;
    int i, k, n, body[6];
    for (i = 0; i < s->count.slept; i++) {
        const int a = (int)(s->slept[i].body_a.index1 - 1u), b = (int)(s->slept[i].body_b.index1 - 1u);
        if (a == slot) csimi_wake_island(w, b);
        if (b == slot) csimi_wake_island(w, a);
    }
    for (i = 0; i < s->count.links; i++) {
        if (!s->link[i].alive) continue;
        n = csimi_link_bodies(s, s->link + i, body);
        for (k = 0; k < n && body[k] != slot; k++) {
        }
        while (k < n && n > 0) csimi_wake_island(w, body[--n]);
    }
}

CSIMI_FN void csimi_wake(csim_world *w, int slot) {
    csimi_rest *r = &w->store.body[slot].rest;
    r->calm = 0;
    r->stirred = (uint32_t)w->steps;
    w->alike = 0;
    r->drowsy = false;
    if (w->asleep == 0) return;
    if (r->asleep)
        csimi_wake_island(w, slot);
    else if (w->store.body[slot].motion != CSIM_DYNAMIC)
        csimi_wake_partners(w, slot);
}

CSIMI_FN void csimi_wake_all(csim_world *w) {
    int i;
    for (i = 0; i < w->live_bodies; i++) csimi_wake(w, w->store.body_list[i]);
}

CSIMI_FN void csimi_wake_link(csim_world *w, int link) {
    int slot[6], n = w->store.link[link].alive ? csimi_link_bodies(&w->store, w->store.link + link, slot) : 0;
    while (n > 0) csimi_wake(w, slot[--n]);
}

CSIMI_FN void csimi_wake_near(csim_world *w, int slot) {
    const csimi_look *l = &w->store.look;
    int leaf, other;
    for (leaf = l->body_leaf[slot]; leaf >= 0 && w->asleep > 0; leaf = l->leaf_next[leaf]) {
        const csim_real far = w->def.contact_distance;
        const csimi_bounds_node *box;
        csimi_bounds_walk walk;
        if (l->tree.leaf_node[leaf] < 0) { /* a box without end */
            csimi_wake_all(w);
            return;
        }
        box = l->tree.node + l->tree.leaf_node[leaf];
        csimi_bounds_walk_in(
            &walk, &l->tree,
            csim_v3((csim_real)box->lower[0] - far, (csim_real)box->lower[1] - far, (csim_real)box->lower[2] - far),
            csim_v3((csim_real)box->upper[0] + far, (csim_real)box->upper[1] + far, (csim_real)box->upper[2] + far));
        while ((other = csimi_bounds_next(&walk)) >= 0) csimi_wake_island(w, l->leaf_body[other]);
    }
}

/* ---- what a step leaves */

CSIMI_FN void csimi_sleep_on(csim_world *w) {
    csimi_store *s = &w->store;
    for (; s->woke_count > 0; s->woke_count--) {
        csimi_rest *r = &s->body[s->woke_list[s->woke_count - 1]].rest;
        r->asleep = true;
        r->woke = false;
        w->asleep++;
        w->woken--;
        w->bed_stale = true;
    }
}

CSIMI_FN void csimi_forget_woken(csim_world *w) {
    csimi_store *s = &w->store;
    const bool kept = s->count.slept_kept == s->count.slept;
    int i, n = 0;
    if (w->woken > 0) csimi_meets_clear(&s->slept_meets, s->slept, s->count.slept);
    for (i = 0; i < s->count.slept && w->woken > 0; i++) {
        if (!csimi_contact_sleeps(s, s->slept + i)) continue;
        if (kept) s->slept_kept[n] = s->slept_kept[i];
        s->slept[n] = s->slept[i];
        csimi_meets_add(s, &s->slept_meets, s->slept, n++);
    }
    if (w->woken > 0 && kept) s->count.slept_kept = n;
    if (w->woken > 0) s->count.slept = n;
    for (i = n = 0; i < s->count.slept_touches && w->woken > 0; i++)
        if (csimi_touch_sleeps(s, s->slept_touch + i)) s->slept_touch[n++] = s->slept_touch[i];
    if (w->woken > 0) s->count.slept_touches = n;
    w->woken = s->woke_count = 0;
}

#endif
