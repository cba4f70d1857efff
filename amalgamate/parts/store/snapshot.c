/* store/snapshot: save, restore and hash of everything a later step depends on. */
#include "private.h"

#ifndef CONDSIM_NO_SNAPSHOTS
/* What stands before the arrays; restored only after all of it has been checked. */
typedef struct csimi_snapshot_header {
    uint64_t magic;
    uint32_t version, real_bytes, options, stamp;
    uint64_t bytes, hash; /* both of the whole snapshot, the hash with 0 in its own place */
    csimi_counts count;
    int live_bodies, free_body, free_link, touches[CSIMI_TOUCH_GROUPS], bedded, asleep, woken;
    double time, last_h;
    uint64_t step;
    csim_vec3 gravity;
    csim_integrator integrator;
} csimi_snapshot_header;

#define CSIMI_MAGIC 0x70616e736d697363ull /* "csimsnap" on a little-endian machine: byte order is checked with it */

/* SIZE_MAX: more than a machine can hold. */
static size_t csimi_snapshot_bytes(const csimi_counts *c) {
    size_t n = sizeof(csimi_snapshot_header);
#define CSIMI_X(axis, type, name, per, holds) \
    n = (size_t)c->axis > (SIZE_MAX - n) / (sizeof(type) * (per)) ? SIZE_MAX \
                                                                  : n + sizeof(type) * (size_t)c->axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    return n;
}

static uint32_t csimi_layout_stamp(void) {
    return (uint32_t)(sizeof(csimi_body) + 7 * sizeof(csim_contact_info) + 31 * sizeof(csim_geometry));
}

/* p: a snapshot of h->bytes, whose header is h. What is kept has one of the header alone, which is no other's. */
static uint64_t csimi_snapshot_hash(const csimi_snapshot_header *h, const unsigned char *p, bool kept) {
    csimi_snapshot_header own;
    uint64_t hash;
    CSIMI_MEMCPY(&own, h, sizeof own);
    own.hash = 0;
    hash = csimi_fnv(CSIMI_FNV_START, &own, sizeof own);
    return kept ? ~hash : csimi_sum(hash, p + sizeof own, (size_t)h->bytes - sizeof own);
}

static csim_status csimi_save(const csim_world *w, void *buffer, size_t *bytes, bool keep) {
    csimi_snapshot_header h;
    const csimi_store *s;
    unsigned char *p = (unsigned char *)buffer;
    size_t size;
    if (!w || !bytes) return CSIM_NULL_ARGUMENT;
    s = &w->store;
    size = csimi_snapshot_bytes(&s->count);
    if (!buffer) {
        *bytes = size;
        return CSIM_OK;
    }
    if (*bytes < size) return CSIM_CAPACITY;
    p += sizeof h;
#define CSIMI_X(axis, type, name, per, holds)                                                             \
    if (s->count.axis > 0) CSIMI_MEMCPY(p, s->name, sizeof(type) * (size_t)s->count.axis * (per)); \
    p += sizeof(type) * (size_t)s->count.axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    CSIMI_MEMSET(&h, 0, sizeof h);
    h.magic = CSIMI_MAGIC;
    h.version = CSIM_VERSION;
    h.real_bytes = CSIM_REAL_SIZE;
    h.options = csimi_layout_stamp();
    h.stamp = w->stamp;
    h.bytes = size;
    h.count = s->count;
    h.live_bodies = w->live_bodies;
    h.free_body = w->free_body;
    h.free_link = w->free_link;
    CSIMI_MEMCPY(h.touches, w->touches, sizeof h.touches);
#ifndef CONDSIM_NO_SLEEP
    h.bedded = s->bedded;
    h.asleep = w->asleep;
    h.woken = w->woken;
#endif
    h.time = w->time;
    h.last_h = w->last_h;
    h.step = w->steps;
    h.gravity = w->def.gravity;
    h.integrator = w->def.integrator;
    h.hash = csimi_snapshot_hash(&h, (const unsigned char *)buffer, keep);
    CSIMI_MEMCPY(buffer, &h, sizeof h);
    *bytes = size;
    return CSIM_OK;
}

CSIM_API csim_status csim_world_save(const csim_world *w, void *buffer, size_t *bytes) {
    return csimi_save(w, buffer, bytes, false);
}

CSIM_API csim_status csim_world_keep(const csim_world *w, void *buffer, size_t *bytes) {
    return csimi_save(w, buffer, bytes, true);
}

static const char *csimi_restore_name(bool kept) { return kept ? "csim_world_take_back" : "csim_world_restore"; }

static csim_status csimi_bad_snapshot(csim_world *w, bool kept, const char *field, double value, const char *allowed) {
    return csimi_fail(&w->error, CSIM_BAD_SNAPSHOT, csimi_restore_name(kept), field, value, allowed);
}

/* Counts that are negative or absurd would overflow the size: they are refused before it is computed. */
static bool csimi_counts_sane(const csimi_counts *c) {
    int value[sizeof(csimi_counts) / sizeof(int)], i;
    CSIMI_MEMCPY(value, c, sizeof value);
    for (i = 0; i < (int)(sizeof value / sizeof value[0]); i++)
        if (value[i] < 0 || value[i] > 100000000) return false;
    return true;
}

/* Groups that are all of the records. */
static bool csimi_groups_sound(const csimi_snapshot_header *h) {
    int i, left = h->count.touches;
    for (i = 0; i < CSIMI_TOUCH_GROUPS; i++) {
        if (h->touches[i] < 0 || h->touches[i] > left) return false;
        left -= h->touches[i];
    }
    return left == 0;
}

static CSIMI_NOINLINE csim_status csimi_check_snapshot(csim_world *w, const csimi_snapshot_header *h,
                                                       const unsigned char *p, size_t bytes, bool kept) {
    if (h->magic != CSIMI_MAGIC)
        return csimi_bad_snapshot(w, kept, "magic", 0, "bytes of csim_world_save on a machine of the same byte order");
    if (h->version != CSIM_VERSION) return csimi_bad_snapshot(w, kept, "version", (double)h->version, "this version");
    if (h->real_bytes != CSIM_REAL_SIZE)
        return csimi_bad_snapshot(w, kept, "scalar bytes", (double)h->real_bytes, "those of this build");
    if (h->options != csimi_layout_stamp())
        return csimi_bad_snapshot(w, kept, "layout", (double)h->options, "that of this build");
    if (!csimi_counts_sane(&h->count)) return csimi_bad_snapshot(w, kept, "counts", 0, "0..1e8");
    if (h->bytes > bytes || csimi_snapshot_bytes(&h->count) != h->bytes)
        return csimi_bad_snapshot(w, kept, "bytes", (double)bytes, "the size the snapshot says, or more");
    if (h->hash != csimi_snapshot_hash(h, p, kept))
        return csimi_bad_snapshot(w, kept, "hash", 0,
                                  kept ? "bytes of csim_world_keep" : "undamaged bytes of csim_world_save");
    if (kept && h->stamp != w->stamp)
        return csimi_bad_snapshot(w, kept, "world", (double)h->stamp, "bytes that this world kept");
    if (!(h->time > -1e300 && h->time < 1e300) || !(h->last_h >= 0 && h->last_h <= 1))
        return csimi_bad_snapshot(w, kept, "time", h->time, "finite, after steps of 0..1 s");
    if (csimi_check_vec(NULL, csimi_restore_name(kept), "gravity", h->gravity))
        return csimi_bad_snapshot(w, kept, "gravity", (double)h->gravity.z, "-1e9..1e9");
    if (h->live_bodies < 0 || h->live_bodies > h->count.bodies || h->free_body < -1 ||
        h->bedded < 0 || h->asleep < 0 || h->woken < 0 || h->woken > h->count.bodies ||
        h->free_body >= h->count.bodies || h->free_link < -1 || h->free_link >= h->count.links ||
        !csimi_groups_sound(h) || (unsigned)h->integrator >= (unsigned)CSIM_INTEGRATOR_COUNT_ ||
        csimi_check_integrator(&w->def, h->integrator, h->count.trees, h->count.joints, csimi_restore_name(kept), NULL))
        return csimi_bad_snapshot(w, kept, "header", 0, "indices inside the counts");
    return CSIM_OK;
}

/* The fields that bodies of the snapshot refer to, found by their hash among those this world knows, into known. */
static CSIMI_NOINLINE csim_status csimi_find_fields(csim_world *w, const csimi_staged *staged, bool kept,
                                                    const csim_field **known) {
    const csimi_store *s = &w->store;
    const unsigned char *at = CSIMI_STAGED_AT(staged, shape);
    int i, k;
    for (i = 0; i < staged->n->shapes; i++, at += sizeof(csim_geometry)) {
        csim_geometry g;
        CSIMI_MEMCPY(&g, at, sizeof g);
        known[i] = NULL;
        if (g.kind != CSIM_SHAPE_MESH && g.kind != CSIM_SHAPE_HEIGHTS && g.kind != CSIM_SHAPE_TRIANGLES) continue;
        for (k = 0; k < s->count.shapes && !known[i]; k++)
            if (s->shape[k].field && s->shape[k].field_hash == g.field_hash) known[i] = s->shape[k].field;
        if (!known[i])
            return csimi_bad_snapshot(w, kept, "shape with an unknown field", (double)i,
                                      "fields of bodies that this world has now");
    }
    return CSIM_OK;
}

/* What is of this world and not of the one that was saved. */
static void csimi_stamp_ids(csimi_store *s, uint32_t stamp, const csim_field **known, bool kept) {
    int i;
    for (i = 0; i < s->count.shapes; i++) s->shape[i].field = known[i];
    if (kept) return; /* of this world already */
    for (i = 0; i < s->count.contacts; i++) s->contact[i].body_a.world = s->contact[i].body_b.world = stamp;
    for (i = 0; i < s->count.touches; i++) s->touch[i].body_a.world = s->touch[i].body_b.world = stamp;
#ifndef CONDSIM_NO_SLEEP
    for (i = 0; i < s->count.slept_touches; i++)
        s->slept_touch[i].body_a.world = s->slept_touch[i].body_b.world = stamp;
    for (i = 0; i < s->count.slept; i++) s->slept[i].body_a.world = s->slept[i].body_b.world = stamp;
#endif
}

static csim_status csimi_restore(csim_world *w, const void *buffer, size_t bytes, bool kept) {
    csimi_snapshot_header h;
    csimi_store *s;
    const unsigned char *p = (const unsigned char *)buffer;
    const csim_field **known;
    csimi_staged staged;
    csimi_counts need;
    csim_status status;
    bool same_leaves;
    const char *fn = csimi_restore_name(kept);
    if (!w) return CSIM_NULL_ARGUMENT;
    if (!buffer) return csimi_missing(&w->error, fn, "buffer");
    if (w->locked) return csimi_deny(&w->error, CSIM_LOCKED, fn, NULL, NULL);
    if (bytes < sizeof h) return csimi_bad_snapshot(w, kept, "bytes", (double)bytes, "at least a header");
    CSIMI_MEMCPY(&h, p, sizeof h);
    if ((status = csimi_check_snapshot(w, &h, p, bytes, kept)) != 0) return status;
    staged.error = &w->error;
    staged.n = &h.count;
    staged.live_bodies = h.live_bodies;
    staged.free_body = h.free_body;
    staged.free_link = h.free_link;
    staged.bytes = p + sizeof h;
    staged.asleep = h.asleep;
    staged.bedded = h.bedded;
    if (!kept && !csimi_snapshot_sound(&staged)) return CSIM_BAD_SNAPSHOT; /* it has said why */
    need = h.count;
    if (h.bedded > 0 && !csimi_has_bed(&need)) need.slept = 1; /* what lies in bed takes room to be moved */
    if ((status = csimi_ensure(w, &need, fn)) != 0) return status;
    s = &w->store;
    known = (const csim_field **)(void *)s->scratch;
    if (s->scratch_bytes < sizeof *known * (size_t)h.count.shapes + (size_t)h.count.bends)
        return csimi_fail(&w->error, CSIM_CAPACITY, fn, "scratch", (double)s->scratch_bytes, "a larger block");
    if ((status = csimi_find_fields(w, &staged, kept, known)) != 0) return status;
    if (!kept && !csimi_snapshot_fits(&staged, known, (unsigned char *)(known + h.count.shapes)))
        return CSIM_BAD_SNAPSHOT;
    same_leaves = csimi_look_fits(w, &staged);
    s->count = h.count;
    p += sizeof h;
#define CSIMI_X(axis, type, name, per, holds)                                                             \
    if (s->count.axis > 0) CSIMI_MEMCPY(s->name, p, sizeof(type) * (size_t)s->count.axis * (per)); \
    p += sizeof(type) * (size_t)s->count.axis * (per);
    CSIMI_WORLD_ARRAYS(CSIMI_X)
#undef CSIMI_X
    csimi_stamp_ids(s, w->stamp, known, kept);
    w->live_bodies = h.live_bodies;
    w->free_body = h.free_body;
    w->free_link = h.free_link;
    CSIMI_MEMCPY(w->touches, h.touches, sizeof h.touches);
    s->told.hit_count = s->told.move_count = s->told.break_count = s->told.sleep_count = 0;
    w->last_h = h.last_h;
    w->steps = w->stats.step = h.step;
    w->scattered = true;
    w->time = w->stats.time = h.time;
    w->def.gravity = h.gravity;
    w->def.integrator = h.integrator;
    csimi_store3(s->state.gravity, h.gravity);
    csimi_list_anew(w);
    csimi_sync_state(s);
    csimi_meets_anew(s);
    if (same_leaves)
        csimi_look_all_moved(w);
    else
        csimi_look_anew(w);
    w->pattern_stale = true;
#ifndef CONDSIM_NO_SLEEP
    s->bedded = h.bedded;
    w->asleep = h.asleep;
    w->woken = h.woken;
    w->bed_stale = true;
    if (!w->def.can_sleep) csimi_wake_all(w);
#endif
    return CSIM_OK;
}

CSIM_API csim_status csim_world_restore(csim_world *w, const void *buffer, size_t bytes) {
    return csimi_restore(w, buffer, bytes, false);
}

CSIM_API csim_status csim_world_take_back(csim_world *w, const void *buffer, size_t bytes) {
    return csimi_restore(w, buffer, bytes, true);
}

/* Bytes of a snapshot that were changed get the checksum that they then have. */
CSIMI_FN void csimi_snapshot_seal(unsigned char *bytes, size_t size) {
    csimi_snapshot_header h;
    if (size < sizeof h) return;
    CSIMI_MEMCPY(&h, bytes, sizeof h);
    if (h.bytes != size) return;
    h.hash = csimi_snapshot_hash(&h, bytes, false);
    CSIMI_MEMCPY(bytes, &h, sizeof h);
}

/* Restores, and takes over the stamp: ids of the world that was saved are then those of this one. */
CSIMI_FN csim_status csimi_snapshot_adopt(csim_world *w, const void *buffer, size_t bytes) {
    const uint32_t own = w->stamp;
    csimi_snapshot_header h;
    csim_status status;
    if (bytes < sizeof h) return CSIM_BAD_SNAPSHOT;
    CSIMI_MEMCPY(&h, buffer, sizeof h);
    w->stamp = h.stamp;
    status = csim_world_restore(w, buffer, bytes);
    if (status) w->stamp = own;
    return status;
}
#undef CSIMI_MAGIC
#endif

static uint64_t csimi_hash_contacts(uint64_t h, const csim_contact_info *c, int count) {
    int i;
    for (i = 0; i < count; i++) {
        h = csimi_fnv(h, &c[i].id, sizeof c[i].id);
        h = csimi_fnv(h, &c[i].impulse, sizeof c[i].impulse);
    }
    return h;
}

#ifndef CONDSIM_NO_SLEEP
/* Body by body in the order of their list, for in the arrays they stand as they sleep. */
static uint64_t csimi_sleepers_hash(const csim_world *w) {
    const csimi_store *s = &w->store;
    const size_t real = sizeof(csim_real);
    uint64_t h = CSIMI_FNV_START;
    int i;
    for (i = 0; i < w->live_bodies; i++) {
        const csimi_body *b = s->body + s->body_list[i];
        h = csimi_fnv(h, s->state.x + 3 * (size_t)b->first_node, 3 * (size_t)b->node_count * real);
        h = csimi_fnv(h, s->state.v + 3 * (size_t)b->first_node, 3 * (size_t)b->node_count * real);
        h = csimi_fnv(h, s->state.frame + 4 * (size_t)b->first_frame, 4 * (size_t)b->frame_count * real);
        h = csimi_fnv(h, s->state.frame_velocity + 3 * (size_t)b->first_frame, 3 * (size_t)b->frame_count * real);
        if (b->rigid >= 0) {
            h = csimi_fnv(h, s->state.com + 3 * (size_t)b->rigid, 3 * real);
            h = csimi_fnv(h, s->state.rotation + 4 * (size_t)b->rigid, 4 * real);
            h = csimi_fnv(h, s->state.velocity + 6 * (size_t)b->rigid, 6 * real);
        }
        if (b->tree >= 0) {
            const csimi_tree *t = s->state.tree + b->tree;
            h = csimi_fnv(h, s->state.link_pose + 7 * (size_t)t->first_link, 7 * (size_t)t->link_count * real);
            h = csimi_fnv(h, s->state.coord_rate + 3 * (size_t)t->first_block, 3 * (size_t)t->block_count * real);
        }
        h = csimi_fnv(h, &b->rest.calm, sizeof b->rest.calm);
        h = csimi_fnv(h, &b->rest.asleep, sizeof b->rest.asleep);
    }
    return csimi_hash_contacts(csimi_hash_contacts(h, s->contact, s->count.contacts), s->slept, s->count.slept);
}
#endif

CSIM_API uint64_t csim_world_hash(const csim_world *w) {
    const csimi_store *s = &w->store;
    uint64_t h = CSIMI_FNV_START;
    size_t nodes = (size_t)s->count.nodes, rigids = (size_t)s->count.rigids, frames = (size_t)s->count.frames;
    size_t real = sizeof(csim_real);
#ifndef CONDSIM_NO_SLEEP
    if (w->def.can_sleep) return csimi_sleepers_hash(w);
#endif
    h = csimi_fnv(h, s->state.x, 3 * nodes * real);
    h = csimi_fnv(h, s->state.v, 3 * nodes * real);
    h = csimi_fnv(h, s->state.com, 3 * rigids * real);
    h = csimi_fnv(h, s->state.rotation, 4 * rigids * real);
    h = csimi_fnv(h, s->state.velocity, 6 * rigids * real);
    h = csimi_fnv(h, s->state.frame, 4 * frames * real);
    h = csimi_fnv(h, s->state.frame_velocity, 3 * frames * real);
    h = csimi_fnv(h, s->state.link_pose, 7 * (size_t)s->count.tree_links * real);
    h = csimi_fnv(h, s->state.coord_rate, 3 * (size_t)s->count.coords * real);
    return csimi_hash_contacts(h, s->contact, s->count.contacts);
}

#define CSIMI_TEXT_OF_(x) #x
#define CSIMI_TEXT_OF(x) CSIMI_TEXT_OF_(x)

CSIM_API const char *csim_build_info(void) {
    return "condsim " CSIMI_TEXT_OF(CSIM_VERSION_MAJOR) "." CSIMI_TEXT_OF(CSIM_VERSION_MINOR) "." CSIMI_TEXT_OF(
        CSIM_VERSION_PATCH)
#ifdef CONDSIM_FLOAT
        ", float"
#else
        ", double"
#endif
#ifdef CONDSIM_OPENMP
        ", OpenMP"
#endif
#ifdef CONDSIM_NO_HEAP
        ", no heap"
#endif
#ifdef CONDSIM_OWN_MATH
        ", own math"
#endif
        ;
}

#undef CSIMI_TEXT_OF
#undef CSIMI_TEXT_OF_
