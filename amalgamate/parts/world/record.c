/* world/record: recordings of a world, and playing them back. */
#include "private.h"

/* What a log is made of: records of whole multiples of 8 bytes. */
enum { CSIMI_RECORD_WHOLE = 1, CSIMI_RECORD_CHANGE, CSIMI_RECORD_SETTINGS, CSIMI_RECORD_STEP };

typedef struct csimi_record {
    uint32_t kind, magic;
    uint64_t bytes; /* behind this */
} csimi_record;

typedef struct csimi_record_step {
    double h;
    uint64_t hash;
    int64_t status;
} csimi_record_step;

/* What may be set while a world runs and is in no snapshot. */
typedef struct csimi_record_settings {
    csim_solver_params solver;
    int budget;
} csimi_record_settings;

typedef struct csimi_record_run {
    uint64_t at, count; /* bytes of the snapshot that follow */
} csimi_record_run;

#define CSIMI_RECORD_MAGIC 0x4c4d5343u /* "CSML" on a little-endian machine */

static size_t csimi_record_round(size_t n) { return (n + 7u) & ~(size_t)7u; }

CSIM_API size_t csim_record_scratch(const csim_world *w) {
    size_t bytes = 0;
    return w && csim_world_save(w, NULL, &bytes) == CSIM_OK ? 2 * csimi_record_round(bytes) : 0;
}

CSIM_API csim_status csim_record_start(csim_recording *r, void *log, size_t bytes, void *scratch, size_t scratch_bytes,
                                       int every) {
    if (!r || !log || !scratch) return CSIM_NULL_ARGUMENT;
    if (every < 0 || (size_t)log % 8 != 0 || (size_t)scratch % 8 != 0) return CSIM_OUT_OF_RANGE;
    CSIMI_MEMSET(r, 0, sizeof *r);
    r->log = (unsigned char *)log;
    r->bytes = bytes & ~(size_t)7u;
    r->scratch = (unsigned char *)scratch;
    r->scratch_bytes = scratch_bytes & ~(size_t)15u;
    r->every = every;
    return CSIM_OK;
}

/* ---- writing */

/* Room for a record, or null. */
static unsigned char *csimi_record_begin(csim_recording *r, uint32_t kind, size_t bytes) {
    csimi_record head;
    unsigned char *at = r->log + r->used;
    if (r->bytes - r->used < sizeof head || csimi_record_round(bytes) > r->bytes - r->used - sizeof head) return NULL;
    head.kind = kind;
    head.magic = CSIMI_RECORD_MAGIC;
    head.bytes = csimi_record_round(bytes);
    CSIMI_MEMSET(at, 0, sizeof head + (size_t)head.bytes);
    CSIMI_MEMCPY(at, &head, sizeof head);
    r->used += sizeof head + (size_t)head.bytes;
    return at + sizeof head;
}

/* Runs of bytes that differ; what is alike for less than a run's own head is taken along. Null: only counts. */
static size_t csimi_record_runs(const unsigned char *before, const unsigned char *now, size_t bytes,
                                unsigned char *to) {
    size_t i = 0, total = 0;
    while (i < bytes) {
        csimi_record_run run;
        size_t last;
        if (before[i] == now[i]) {
            i++;
            continue;
        }
        run.at = i;
        for (last = i; i < bytes && i - last < sizeof run; i++)
            if (before[i] != now[i]) last = i;
        run.count = last + 1 - (size_t)run.at;
        i = last + 1;
        if (to) {
            CSIMI_MEMCPY(to + total, &run, sizeof run);
            CSIMI_MEMCPY(to + total + sizeof run, now + run.at, (size_t)run.count);
        }
        total += sizeof run + csimi_record_round((size_t)run.count);
    }
    return total;
}

static csim_status csimi_record_world(csim_recording *r, const csim_world *w, size_t size) {
    const unsigned char *before = r->scratch;
    unsigned char *now = r->scratch + r->scratch_bytes / 2, *to;
    size_t bytes = r->scratch_bytes / 2, runs;
    csim_status status = csim_world_save(w, now, &bytes);
    if (status) return status;
    if (r->snapshot != size || (r->every > 0 && r->since >= r->every)) {
        if ((to = csimi_record_begin(r, CSIMI_RECORD_WHOLE, sizeof(uint64_t) + size)) == NULL) return CSIM_CAPACITY;
        bytes = size;
        CSIMI_MEMCPY(to, &bytes, sizeof bytes);
        CSIMI_MEMCPY(to + sizeof(uint64_t), now, size);
        r->since = 0;
        return CSIM_OK;
    }
    runs = csimi_record_runs(before, now, size, NULL);
    if (runs == 0) return CSIM_OK;
    if ((to = csimi_record_begin(r, CSIMI_RECORD_CHANGE, runs)) == NULL) return CSIM_CAPACITY;
    (void)csimi_record_runs(before, now, size, to);
    return CSIM_OK;
}

static csim_status csimi_record_settings_now(csim_recording *r, const csim_world *w) {
    csimi_record_settings settings;
    unsigned char *to;
    if (r->steps > 0 && r->budget == w->def.budget &&
        csimi_fnv(CSIMI_FNV_START, &w->def.solver, sizeof r->solver) ==
            csimi_fnv(CSIMI_FNV_START, &r->solver, sizeof r->solver))
        return CSIM_OK;
    if ((to = csimi_record_begin(r, CSIMI_RECORD_SETTINGS, sizeof settings)) == NULL) return CSIM_CAPACITY;
    CSIMI_MEMSET(&settings, 0, sizeof settings);
    settings.solver = w->def.solver;
    settings.budget = w->def.budget;
    CSIMI_MEMCPY(to, &settings, sizeof settings);
    return CSIM_OK;
}

/* What calls have made of the world since the last step: settings first, on which hangs what a snapshot holds. */
static csim_status csimi_record_changes(csim_recording *r, const csim_world *w) {
    size_t size = 0;
    csim_status status = csim_world_save(w, NULL, &size);
    if (status) return status;
    if (size > r->scratch_bytes / 2) return CSIM_CAPACITY;
    if ((status = csimi_record_settings_now(r, w)) != 0) return status;
    return csimi_record_world(r, w, size);
}

CSIM_API csim_status csim_record_step(csim_recording *r, csim_world *w, csim_real h) {
    csimi_record_step step;
    csim_status status;
    unsigned char *to;
    size_t used, size;
    if (!r || !w || !r->log) return CSIM_NULL_ARGUMENT;
    used = r->used;
    status = csimi_record_changes(r, w);
    to = status ? NULL : csimi_record_begin(r, CSIMI_RECORD_STEP, sizeof step);
    if (!to) {
        r->used = used;
        return status ? status : CSIM_CAPACITY;
    }
    r->solver = w->def.solver; /* in the log for good now */
    r->budget = w->def.budget;
    status = csim_world_step(w, h);
    step.h = (double)h;
    step.hash = csim_world_hash(w);
    step.status = status;
    CSIMI_MEMCPY(to, &step, sizeof step);
    r->steps++;
    r->since++;
    size = r->scratch_bytes / 2;
    r->snapshot = csim_world_save(w, r->scratch, &size) == CSIM_OK ? size : 0;
    return status;
}

/* ---- playing */

/* The record at a place; false: there is none, or it is none. */
static bool csimi_record_at(const csim_replay *p, size_t at, csimi_record *head) {
    if (p->bytes - at < sizeof *head) return false;
    CSIMI_MEMCPY(head, p->log + at, sizeof *head);
    return head->magic == CSIMI_RECORD_MAGIC && head->kind >= CSIMI_RECORD_WHOLE && head->kind <= CSIMI_RECORD_STEP &&
           head->bytes % 8 == 0 && head->bytes <= p->bytes - at - sizeof *head &&
           (head->kind != CSIMI_RECORD_STEP || head->bytes == sizeof(csimi_record_step)) &&
           (head->kind != CSIMI_RECORD_SETTINGS || head->bytes == csimi_record_round(sizeof(csimi_record_settings)));
}

CSIM_API csim_status csim_replay_open(csim_replay *p, const void *log, size_t bytes, void *scratch,
                                      size_t scratch_bytes) {
    csimi_record head;
    bool whole = false;
    size_t at;
    if (!p || !log || !scratch) return CSIM_NULL_ARGUMENT;
    CSIMI_MEMSET(p, 0, sizeof *p);
    p->log = (const unsigned char *)log;
    p->bytes = bytes;
    p->scratch = (unsigned char *)scratch;
    p->scratch_bytes = scratch_bytes;
    p->step = -1; /* nowhere */
    for (at = 0; at < bytes; at += sizeof head + (size_t)head.bytes) {
        if (!csimi_record_at(p, at, &head)) return CSIM_BAD_SNAPSHOT;
        whole = whole || head.kind == CSIMI_RECORD_WHOLE;
        if (!whole && head.kind != CSIMI_RECORD_SETTINGS) return CSIM_BAD_SNAPSHOT;
        p->steps += head.kind == CSIMI_RECORD_STEP;
    }
    return whole ? CSIM_OK : CSIM_BAD_SNAPSHOT;
}

static csim_status csimi_replay_whole(csim_replay *p, csim_world *w, const csimi_record *head) {
    const unsigned char *from = p->log + p->at + sizeof *head;
    uint64_t size;
    if (head->bytes < sizeof size) return CSIM_BAD_SNAPSHOT;
    CSIMI_MEMCPY(&size, from, sizeof size);
    if (size > head->bytes - sizeof size) return CSIM_BAD_SNAPSHOT;
    return csimi_snapshot_adopt(w, from + sizeof size, (size_t)size);
}

static csim_status csimi_replay_change(csim_replay *p, csim_world *w, const csimi_record *head) {
    const unsigned char *from = p->log + p->at + sizeof *head, *end = from + head->bytes;
    size_t size = p->scratch_bytes;
    csim_status status = csim_world_save(w, p->scratch, &size);
    if (status) return status;
    while (from < end) {
        csimi_record_run run;
        if ((size_t)(end - from) < sizeof run) return CSIM_BAD_SNAPSHOT;
        CSIMI_MEMCPY(&run, from, sizeof run);
        from += sizeof run;
        if (run.count > (uint64_t)(end - from) || run.at > size || run.count > size - run.at) return CSIM_BAD_SNAPSHOT;
        CSIMI_MEMCPY(p->scratch + run.at, from, (size_t)run.count);
        from += csimi_record_round((size_t)run.count);
    }
    csimi_snapshot_seal(p->scratch, size);
    return csim_world_restore(w, p->scratch, size);
}

static csim_status csimi_replay_step(csim_replay *p, csim_world *w) {
    csimi_record_step step;
    csim_status status;
    CSIMI_MEMCPY(&step, p->log + p->at + sizeof(csimi_record), sizeof step);
    status = csim_world_step(w, (csim_real)step.h);
    p->step++;
    if (status != (csim_status)step.status || csim_world_hash(w) != step.hash) p->differs = p->step;
    return CSIM_OK;
}

static csim_status csimi_replay_settings(const csim_replay *p, csim_world *w, size_t at) {
    csimi_record_settings settings;
    CSIMI_MEMCPY(&settings, p->log + at + sizeof(csimi_record), sizeof settings);
    return csimi_set_solver(w, &settings.solver, settings.budget, "csim_replay_seek");
}

/* One record. */
static csim_status csimi_replay_one(csim_replay *p, csim_world *w) {
    csimi_record head;
    csim_status status = CSIM_BAD_SNAPSHOT;
    if (!csimi_record_at(p, p->at, &head)) return status;
    switch (head.kind) {
    case CSIMI_RECORD_WHOLE: status = csimi_replay_whole(p, w, &head); break;
    case CSIMI_RECORD_CHANGE: status = csimi_replay_change(p, w, &head); break;
    case CSIMI_RECORD_SETTINGS: status = csimi_replay_settings(p, w, p->at); break;
    case CSIMI_RECORD_STEP: status = csimi_replay_step(p, w); break;
    default: break;
    }
    p->at += sizeof head + (size_t)head.bytes;
    return status;
}

/* The last whole snapshot from which a step can be reached: it stands before that step's own record. The first one is
   where a world begins. */
static void csimi_replay_rewind(csim_replay *p, int64_t step) {
    csimi_record head;
    bool any = false;
    size_t at = 0;
    int64_t done = 0;
    p->step = 0;
    for (; at < p->bytes && csimi_record_at(p, at, &head) && (done < step || !any);
         at += sizeof head + (size_t)head.bytes) {
        if (head.kind == CSIMI_RECORD_WHOLE) p->at = at, p->step = done, any = true;
        done += head.kind == CSIMI_RECORD_STEP;
    }
}

/* Settings that stand before a place. */
static csim_status csimi_replay_settings_before(const csim_replay *p, csim_world *w) {
    csimi_record head;
    size_t at, last = p->bytes;
    for (at = 0; at < p->at && csimi_record_at(p, at, &head); at += sizeof head + (size_t)head.bytes)
        if (head.kind == CSIMI_RECORD_SETTINGS) last = at;
    return last < p->bytes ? csimi_replay_settings(p, w, last) : CSIM_OK;
}

CSIM_API csim_status csim_replay_seek(csim_replay *p, csim_world *w, int64_t step) {
    csim_status status = CSIM_OK;
    if (!p || !w || !p->log) return CSIM_NULL_ARGUMENT;
    if (step < 0 || step > p->steps) return CSIM_OUT_OF_RANGE;
    if (p->step < 0 || step < p->step || step == 0) {
        csimi_replay_rewind(p, step);
        p->differs = 0;
        status = csimi_replay_settings_before(p, w);
        if (status == CSIM_OK && step == 0) status = csimi_replay_one(p, w);
    }
    while (status == CSIM_OK && p->step < step && p->differs == 0) status = csimi_replay_one(p, w);
    if (status) p->step = -1; /* nowhere: the world is not that of any step */
    return status;
}

#undef CSIMI_RECORD_MAGIC
