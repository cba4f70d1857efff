/* step/sleep: who comes to rest.

   A body is calm while none of its points is faster than sleep_speed nor farther than sleep_drift * sleep_time from
   where it was when it began to be calm: a way, not a speed, so that what trembles in its place may rest and what
   creeps may not. At the top of its way a body is slow and not calm for long. Bodies that share an island or a link
   fall asleep together, when each of them has been calm for sleep_time. */
#include "private.h"

#ifndef CONDSIM_NO_SLEEP

/* ---- how far and how fast */

/* The largest way from an anchor, m, and speed, m/s. */
typedef struct csimi_stir {
    csim_real way, speed;
} csimi_stir;

static void csimi_stirs(csimi_stir *t, csim_real way, csim_real speed) {
    t->way = csimi_max(t->way, way);
    t->speed = csimi_max(t->speed, speed);
}

/* How far a point at a distance of 1 moves by the turn from one rotation to another. */
static csim_real csimi_rest_turned(const csim_real *from, const csim_real *to) {
    const csim_quat d = csim_quat_mul(csimi_load_quat(to), csim_quat_conj(csimi_load_quat(from)));
    return 2 * CSIMI_SQRT(d.x * d.x + d.y * d.y + d.z * d.z); /* the chord, 2 sin(angle / 2) */
}

/* The distance from x, in body or link axes, of the farthest point of shapes on a link (-1: all). */
static csim_real csimi_outmost(const csimi_store *s, const csimi_body *b, int link, csim_vec3 x) {
    csim_real most = 0;
    int i;
    for (i = b->first_shape; i < b->first_shape + b->shape_count; i++) {
        const csim_geometry *g = s->shape + i;
        if (s->skin[i].disabled || (link >= 0 && s->shape_link[i] != link)) continue;
        /* bound: of the ball about the centre of a shape that holds it */
        most = csimi_max(most, csim_length(csim_sub(csim_pose_point(g->local, g->centre), x)) + g->bound);
    }
    return most;
}

static csim_real csimi_way3(const csim_real *a, const csim_real *b) {
    return csim_length(csim_sub(csimi_load3(a), csimi_load3(b)));
}

static void csimi_stir_rigid(const csimi_store *s, const csimi_body *b, csimi_stir *t) {
    const size_t k = (size_t)b->rigid;
    const csim_real reach = csimi_outmost(s, b, -1, csimi_load3(b->centre));
    /* the representative velocity of the step: in midpoint worlds the velocity at the end rings */
    const csim_real *anchor = s->rigid_anchor + 7 * k, *v = s->rigid_rep + 6 * k;
    const csim_real turned = csimi_rest_turned(anchor + 3, s->state.rotation + 4 * k);
    csimi_stirs(t, csimi_way3(s->state.com + 3 * k, anchor) + reach * turned, /* turns move about the centre of mass */
                csim_length(csimi_load3(v)) + reach * csim_length(csimi_load3(v + 3)));
}

static void csimi_stir_nodes(const csimi_store *s, const csimi_body *b, csimi_stir *t) {
    size_t i, end = (size_t)(b->first_node + b->node_count);
    for (i = (size_t)b->first_node; i < end; i++) {
        csimi_stirs(t, csimi_way3(s->state.x + 3 * i, s->node_anchor + 3 * i),
                    csim_length(csimi_load3(s->node_rep + 3 * i)));
        /* what the user leads about keeps its body up, however slow it is */
        if (s->state.node_mode[i] == CSIMI_KINEMATIC && csimi_any(s->state.v + 3 * i, 3)) t->speed = CSIMI_HUGE;
    }
    end = (size_t)(b->first_frame + b->frame_count);
    for (i = (size_t)b->first_frame; i < end; i++) {
        /* the skin of a cable as the edge turns */
        csimi_stirs(t, b->radius * csimi_rest_turned(s->frame_anchor + 4 * i, s->state.frame + 4 * i),
                    b->radius * csim_length(csimi_load3(s->frame_rep + 3 * i)));
        if (s->state.frame_mode[i] == CSIMI_KINEMATIC && csimi_any(s->state.frame_velocity + 3 * i, 3))
            t->speed = CSIMI_HUGE;
    }
}

static void csimi_stir_tree(const csimi_store *s, const csimi_body *b, csimi_stir *t) {
    const int first = s->state.tree[b->tree].first_link;
    int i;
    for (i = first; i < first + s->state.tree[b->tree].link_count; i++) {
        const csim_real *pose = s->state.link_pose + 7 * (size_t)i, *anchor = s->link_anchor + 7 * (size_t)i;
        const csim_real reach = csimi_outmost(s, b, i - first, csim_v3(0, 0, 0));
        csim_vec3 turn, v = csimi_link_velocity(&s->state, i, csimi_load3(pose), s->coord_rep, &turn);
        csimi_stirs(t, csimi_way3(pose, anchor) + reach * csimi_rest_turned(anchor + 3, pose + 3),
                    csim_length(v) + reach * csim_length(turn));
    }
}

/* The way of a body is counted from where it is here. */
static void csimi_anchor(csimi_store *s, const csimi_body *b) {
    if (b->rigid >= 0) {
        csim_real *anchor = s->rigid_anchor + 7 * (size_t)b->rigid;
        CSIMI_MEMCPY(anchor, s->state.com + 3 * (size_t)b->rigid, 3 * sizeof *anchor);
        CSIMI_MEMCPY(anchor + 3, s->state.rotation + 4 * (size_t)b->rigid, 4 * sizeof *anchor);
    }
    if (b->kind == CSIM_BODY_TREE) {
        const csimi_tree *tree = s->state.tree + b->tree;
        CSIMI_MEMCPY(s->link_anchor + 7 * (size_t)tree->first_link, s->state.link_pose + 7 * (size_t)tree->first_link,
                     7 * sizeof(csim_real) * (size_t)tree->link_count);
    }
    if (b->node_count > 0)
        CSIMI_MEMCPY(s->node_anchor + 3 * (size_t)b->first_node, s->state.x + 3 * (size_t)b->first_node,
                     3 * sizeof(csim_real) * (size_t)b->node_count);
    if (b->frame_count > 0)
        CSIMI_MEMCPY(s->frame_anchor + 4 * (size_t)b->first_frame, s->state.frame + 4 * (size_t)b->first_frame,
                     4 * sizeof(csim_real) * (size_t)b->frame_count);
}

/* What each body says of going to sleep now. An island does what the last of these is that one of its bodies says: one
   that is told to (csim_body_set_awake) outweighs those not calm, one that may not outweighs all. */
enum { CSIMI_SAYS_CALM, CSIMI_SAYS_STIRS, CSIMI_SAYS_TOLD, CSIMI_SAYS_NEVER };

static bool csimi_says_sleep(int says) { return says == CSIMI_SAYS_CALM || says == CSIMI_SAYS_TOLD; }

/* One more step of a body, and what it says. */
static unsigned char csimi_calms(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_body *b = s->body + slot;
    csimi_stir t = {0, 0};
    if (b->rigid >= 0) csimi_stir_rigid(s, b, &t);
    if (b->kind == CSIM_BODY_TREE) csimi_stir_tree(s, b, &t);
    csimi_stir_nodes(s, b, &t); /* of a reduced body those of its surface */
    if (t.speed <= w->def.sleep_speed && t.way <= w->def.sleep_drift * w->def.sleep_time) {
        b->rest.calm = csimi_min(b->rest.calm + (csim_real)w->last_h, w->def.sleep_time);
    } else {
        b->rest.calm = 0;
        csimi_anchor(s, b); /* the way begins anew */
    }
    /* sensors see what sleeps: their bodies stay up */
    if (!b->can_sleep || csimi_has_sensor(s, b)) return CSIMI_SAYS_NEVER;
    return b->rest.drowsy ? CSIMI_SAYS_TOLD : b->rest.calm >= w->def.sleep_time ? CSIMI_SAYS_CALM : CSIMI_SAYS_STIRS;
}

/* ---- islands of bodies */

/* By slot; the root of an island is its lowest slot. */
typedef struct csimi_sleepy {
    int *parent;         /* [bodies] */
    int *last;           /* [bodies] of the root: the body that was last put into the ring */
    unsigned char *says; /* [bodies] CSIMI_SAYS_...; of the root: of its island, once they are judged */
    int *lead;           /* [blocks] of islands: their first body */
} csimi_sleepy;

static void csimi_sleepy_layout(csimi_sleepy *p, const csimi_counts *n, csimi_arena *arena) {
    p->parent = CSIMI_PUSH(arena, int, n->bodies);
    p->last = CSIMI_PUSH(arena, int, n->bodies);
    p->says = CSIMI_PUSH(arena, unsigned char, n->bodies);
    p->lead = CSIMI_PUSH(arena, int, csimi_blocks_of(n));
}

CSIMI_FN size_t csimi_sleep_scratch(const csimi_counts *n) {
    csimi_sleepy p;
    csimi_arena arena = csimi_arena_counting();
    if (n->slept == 0) return 0;
    csimi_sleepy_layout(&p, n, &arena);
    return arena.used;
}

static int csimi_sleepy_root(const csimi_sleepy *p, int i) {
    while (p->parent[i] != i) i = p->parent[i] = p->parent[p->parent[i]]; /* halves the way up for the next who asks */
    return i;
}

static void csimi_sleepy_join(const csimi_sleepy *p, int i, int j) {
    const int a = csimi_sleepy_root(p, i), b = csimi_sleepy_root(p, j);
    p->parent[csimi_imax(a, b)] = csimi_imin(a, b); /* the lowest slot leads, in whatever order they are joined */
}

/* Bodies whose blocks share an island, and those that links join, whether or not they have rows now. */
static void csimi_sleepy_islands(const csim_world *w, const csimi_step_frame *f, csimi_sleepy *p) {
    const csimi_store *s = &w->store;
    csimi_span span[CSIMI_SPANS];
    int i, k, slot[6];
    for (i = 0; i < f->island_count; i++) p->lead[i] = -1; /* nobody of it has been met */
    csimi_spans(s, &s->state, span);
    for (k = 0; k < CSIMI_SPANS; k++)
        for (i = 0; i < span[k].count; i++) {
            const int island = f->island[span[k].first + span[k].per * i], owner = span[k].owner(s, i);
            if (island < 0 || owner < 0) continue; /* what is given joins nobody */
            if (p->lead[island] < 0) p->lead[island] = owner;
            csimi_sleepy_join(p, owner, p->lead[island]);
        }
    for (i = 0; i < s->count.links; i++) {
        int first = -1;
        if (!s->link[i].alive || s->link[i].kind == CSIMI_EXCLUSION) continue; /* which holds nothing */
        for (k = csimi_link_bodies(s, s->link + i, slot) - 1; k >= 0; k--) {
            /* through the ground nobody is joined */
            if (s->body[slot[k]].motion != CSIM_DYNAMIC || csimi_lies(s, slot[k])) continue;
            if (first >= 0) csimi_sleepy_join(p, first, slot[k]); /* each with the one before */
            first = slot[k];
        }
    }
}

/* ---- falling asleep */

/* Velocities of items to 0; of mode, null: all of them. */
static void csimi_stop_items(csim_real *v, csim_real *rep, const unsigned char *mode, int first, int count, int per) {
    int i;
    for (i = first; i < first + count; i++) {
        if (mode && mode[i] != CSIMI_FREE) continue; /* what is led keeps the velocity it was given */
        CSIMI_MEMSET(v + (size_t)per * (size_t)i, 0, sizeof *v * (size_t)per);
        CSIMI_MEMSET(rep + (size_t)per * (size_t)i, 0, sizeof *rep * (size_t)per);
    }
}

static void csimi_put_to_bed(csim_world *w, int slot) {
    csimi_store *s = &w->store;
    csimi_body *b = s->body + slot;
    b->rest.asleep = true;
    b->rest.calm = 0;
    if (b->rigid >= 0) csimi_stop_items(s->state.velocity, s->rigid_rep, NULL, b->rigid, 1, 6);
    if (b->tree >= 0)
        csimi_stop_items(s->state.coord_rate, s->coord_rep, NULL, s->state.tree[b->tree].first_block,
                         s->state.tree[b->tree].block_count, 3);
    /* nodes of a reduced body follow its coordinates: all of them stop */
    csimi_stop_items(s->state.v, s->node_rep, b->tree >= 0 ? NULL : s->state.node_mode, b->first_node, b->node_count,
                     3);
    csimi_stop_items(s->state.frame_velocity, s->frame_rep, s->state.frame_mode, b->first_frame, b->frame_count, 3);
    w->asleep++;
    w->bed_stale = true; /* its items move behind those awake before the next step */
}

/* Contacts of the last step that belong to sleepers move over. */
static void csimi_keep_slept(csim_world *w) {
    csimi_store *s = &w->store;
    const bool kept = s->count.kept == s->count.contacts && s->capacity.slept_kept > 0;
    int i, n = 0;
    /* who fell asleep while the world had no bounded frames has no records: blank ones keep the places alike */
    for (; s->count.slept_kept < s->count.slept && s->capacity.slept_kept > 0; s->count.slept_kept++)
        CSIMI_MEMSET(s->slept_kept + s->count.slept_kept, 0, sizeof *s->slept_kept);
    csimi_meets_clear(&s->meets, s->contact, s->count.contacts); /* before contacts change their places */
    for (i = 0; i < s->count.contacts; i++) {
        if (csimi_contact_sleeps(s, s->contact + i)) {
            s->contact[i].began = false; /* when it wakes it goes on */
            s->slept[s->count.slept] = s->contact[i];
            csimi_meets_add(s, &s->slept_meets, s->slept, s->count.slept++);
            if (s->capacity.slept_kept == 0) continue;
            CSIMI_MEMSET(s->slept_kept + s->count.slept_kept, 0, sizeof *s->slept_kept);
            if (kept) s->slept_kept[s->count.slept_kept] = s->kept[i];
            s->count.slept_kept++; /* record i is of contact i */
            continue;
        }
        if (kept) s->kept[n] = s->kept[i];
        s->contact[n] = s->contact[i];
        csimi_meets_add(s, &s->meets, s->contact, n++); /* those that stay close up */
    }
    if (kept) s->count.kept = n;
    s->count.contacts = n;
}

/* And the pairs that touch; what began or ended in this step is told before. */
static void csimi_keep_touches(csim_world *w) {
    csimi_store *s = &w->store;
    const int first = w->touches[CSIMI_ENDS] + w->touches[CSIMI_BEGINS], end = first + w->touches[CSIMI_STAYS];
    int i, n = first;
    for (i = w->touches[CSIMI_ENDS]; i < s->count.touches; i++) {
        const bool sleeps = i < end && csimi_touch_sleeps(s, s->touch + i); /* sensors go on seeing */
        if (sleeps) {
            s->slept_touch[s->count.slept_touches] = s->touch[i];
            s->slept_touch[s->count.slept_touches++].bodies = false;
        }
        if (!sleeps && i >= first) s->touch[n++] = s->touch[i]; /* begins stay where they are, to be told */
    }
    w->touches[CSIMI_STAYS] -= s->count.touches - n;
    s->count.touches = n;
}

/* Each island whose bodies are all ready, as a ring. */
static void csimi_rest_islands(csim_world *w, csimi_step_frame *f, csimi_sleepy *p) {
    csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->active_count; i++) {
        const int slot = s->active[i], root = csimi_sleepy_root(p, slot);
        if (s->body[slot].motion != CSIM_DYNAMIC || !csimi_says_sleep(p->says[root])) continue;
        csimi_put_to_bed(w, slot);
        f->stats->fell_asleep++;
        csimi_tell_sleep(w, slot, true, root);
        s->body[slot].rest.ring = slot;
        if (p->last[root] >= 0) { /* between the one before and the first */
            s->body[slot].rest.ring = s->body[p->last[root]].rest.ring;
            s->body[p->last[root]].rest.ring = slot;
        }
        p->last[root] = slot;
    }
    if (f->stats->fell_asleep == 0) return;
    for (i = 0; i < s->count.axes; i++) { /* massless coordinates of soft axes */
        int slot[6];
        const int n = csimi_link_bodies(s, s->link + s->axes[i].link, slot);
        int k = 0;
        while (k < n && !s->body[slot[k]].rest.asleep) k++; /* where one sleeps all that it moves do */
        if (k < n) csimi_stop_items(s->state.slack_rate, s->slack_rep, NULL, i, 1, 3 * CSIMI_AXES_SLACKS);
    }
    csimi_keep_slept(w);
    csimi_keep_touches(w);
}

static void csimi_judge_islands(const csimi_store *s, csimi_sleepy *p) {
    int i;
    for (i = 0; i < s->active_count; i++) {
        unsigned char *island = p->says + csimi_sleepy_root(p, s->active[i]);
        *island = (unsigned char)csimi_imax(*island, p->says[s->active[i]]);
    }
}

CSIMI_FN void csimi_fall_asleep(csim_world *w, csimi_step_frame *f, csimi_arena *arena) {
    csimi_store *s = &w->store;
    const size_t mark = arena->used;
    int i, free = 0, ready = 0;
    csimi_sleepy p;
    f->stats->woke = w->woken;
    for (i = 0; i < s->active_count && w->woken > 0; i++) {
        csimi_rest *r = &s->body[s->active[i]].rest;
        if (r->woke) csimi_tell_sleep(w, s->active[i], false, -1); /* -1: by itself */
        r->woke = false;
    }
    /* this step has contacts of its own for those who woke: the ones they slept on go */
    csimi_forget_woken(w);
    if (w->def.can_sleep) {
        csimi_sleepy_layout(&p, &s->count, arena);
        for (i = 0; i < s->active_count; i++) {
            const int slot = s->active[i];
            p.parent[slot] = slot;
            p.last[slot] = -1;
            p.says[slot] = CSIMI_SAYS_CALM;
            if (s->body[slot].motion != CSIM_DYNAMIC) continue; /* neither joins islands nor sleeps */
            p.says[slot] = csimi_calms(w, slot);
            s->body[slot].rest.drowsy = false; /* said once: it does not stop later, wherever it is by then */
            ready += csimi_says_sleep(p.says[slot]);
            free++;
        }
        if (ready > 0) { /* else nobody can */
            csimi_sleepy_islands(w, f, &p);
            csimi_judge_islands(s, &p);
            csimi_rest_islands(w, f, &p);
        }
        csimi_pop(arena, mark);
    } else {
        for (i = 0; i < s->active_count; i++) free += s->body[s->active[i]].motion == CSIM_DYNAMIC;
    }
    f->stats->awake = free - f->stats->fell_asleep;
    f->stats->asleep = w->asleep;
}
#endif
