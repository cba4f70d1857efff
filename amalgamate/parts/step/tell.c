/* step/tell: what a step tells beside its contacts: hits, bodies that moved, links that broke, sleep. They are
   written when the step is committed; what touches has been found before (touching.c). */
#include "private.h"

/* ---- what moved */

static bool csimi_body_moves(const csimi_store *s, const csimi_state *next, int slot) {
    const csimi_state *now = &s->state;
    const csimi_body *b = s->body + slot;
    const size_t node = 3 * (size_t)b->first_node, edge = 4 * (size_t)b->first_frame;
    if (b->rigid >= 0) { /* as told: rounding may hide what the centre of mass did */
        csim_pose from, to;
        if (csimi_differ(now->rotation + 4 * b->rigid, next->rotation + 4 * b->rigid, 4)) return true;
        from = csimi_body_pose(s, now, slot), to = csimi_body_pose(s, next, slot);
        return csimi_differ(&from.position.x, &to.position.x, 3);
    }
    if (b->tree >= 0) { /* reduced bodies too */
        const csimi_tree *t = now->tree + b->tree;
        const size_t link = 7 * (size_t)t->first_link, coord = 3 * (size_t)t->first_block;
        return csimi_differ(now->link_pose + link, next->link_pose + link, 7 * (size_t)t->link_count) ||
               (b->node_count > 0 && /* reduced: its nodes */
                csimi_differ(now->coord_position + coord, next->coord_position + coord, 3 * (size_t)t->block_count));
    }
    /* bodies of nodes: a cable may twist while its nodes stay */
    return csimi_differ(now->x + node, next->x + node, 3 * (size_t)b->node_count) ||
           csimi_differ(now->frame + edge, next->frame + edge, 4 * (size_t)b->frame_count);
}

CSIMI_FN void csimi_mark_moved(const csim_world *w, csimi_step_frame *f) {
    const csimi_store *s = &w->store;
    int i;
    for (i = 0; i < s->active_count && s->capacity.touches > 0; i++) /* worlds without room for events tell nothing */
        f->pairs.moved[s->active[i]] = csimi_body_moves(s, &f->next, s->active[i]);
}

static void csimi_tell_moves(csim_world *w, const csimi_step_frame *f) {
    csimi_told *told = &w->store.told;
    int i;
    told->move_count = 0;
    for (i = 0; i < w->store.active_count; i++) {
        const int slot = w->store.active[i];
        csim_move_event *e = told->move + told->move_count;
        if (!f->pairs.moved[slot]) continue; /* found before the commit, which writes over where it was */
        CSIMI_MEMSET(e, 0, sizeof *e);
        e->body = csimi_body_id_of(w, slot);
        e->user_data = w->store.body[slot].user_data;
        csim_body_get_pose(w, e->body, &e->pose); /* after the step */
        told->move_count++;
    }
}

/* ---- hits */

static void csimi_tell_hits(csim_world *w, const csimi_step_frame *f) {
    const csimi_encounters *p = &f->pairs;
    csimi_told *told = &w->store.told;
    int i;
    told->hit_count = 0;
    for (i = 0; i < p->shapes; i++) {
        const csimi_encounter *pair = p->pair + i;
        csim_hit_event *e = told->hit + told->hit_count;
        const csim_contact_info *c;
        /* hardest: of those that this step stopped; what it only brakes hits in a later one */
        if (pair->hardest < 0 || !(pair->speed > w->def.hit_speed)) continue;
        c = f->info + pair->hardest;
        CSIMI_MEMSET(e, 0, sizeof *e);
        e->body_a = pair->body[0];
        e->body_b = pair->body[1];
        e->user_data_a = csimi_told_user_data(w, e->body_a, NULL);
        e->user_data_b = csimi_told_user_data(w, e->body_b, NULL);
        e->shape_a = pair->shape[0];
        e->shape_b = pair->shape[1];
        e->shape_user_data_a = csimi_told_shape_data(w, e->body_a, e->shape_a, NULL);
        e->shape_user_data_b = csimi_told_shape_data(w, e->body_b, e->shape_b, NULL);
        e->point = c->point;
        /* a contact has its normal from b to a: the pair names the lower slot first, which may be the other one */
        e->normal = pair->swapped ? csim_scale(-1, c->normal) : c->normal;
        e->speed = pair->speed;
        e->impulse = pair->impulse;
        told->hit_count++;
    }
}

/* ---- joints and sleep */

static csim_body_id csimi_told_body(const csim_world *w, int slot, void **user_data) {
    *user_data = slot >= 0 ? w->store.body[slot].user_data : NULL; /* -1: the world */
    return csimi_body_id_of(w, slot);
}

CSIMI_FN void csimi_tell_break(csim_world *w, int link) {
    csimi_told *told = &w->store.told;
    const csimi_link *l = w->store.link + link;
    csim_break_event *e = told->joint_break + told->break_count;
    if (w->store.capacity.touches == 0) return;
    if (told->break_count >= w->store.capacity.joints + w->store.capacity.springs) return; /* each breaks once */
    CSIMI_MEMSET(e, 0, sizeof *e);
    e->joint = csimi_link_id_of(w, link);
    e->body_a = csimi_told_body(w, l->body[0], &e->user_data_a);
    e->body_b = csimi_told_body(w, l->body[1], &e->user_data_b);
    told->break_count++;
}

CSIMI_FN void csimi_tell_sleep(csim_world *w, int slot, bool asleep, int island) {
    csimi_told *told = &w->store.told;
    csim_sleep_event *e = told->sleep + told->sleep_count;
    if (told->sleep_count >= w->store.capacity.bodies || w->store.capacity.touches == 0) return; /* a body has one */
    CSIMI_MEMSET(e, 0, sizeof *e);
    e->body = csimi_told_body(w, slot, &e->user_data);
    e->asleep = asleep;
    e->island = island;
    told->sleep_count++;
}

/* ---- the commit */

CSIMI_FN void csimi_tell_step(csim_world *w, const csimi_step_frame *f) {
    csimi_store *s = &w->store;
    int i;
    if (s->capacity.touches == 0) return; /* no room for events */
    CSIMI_MEMCPY(s->touch, f->pairs.event, sizeof *s->touch * (size_t)f->pairs.events);
    s->count.touches = f->pairs.events;
    CSIMI_MEMCPY(w->touches, f->pairs.group, sizeof w->touches); /* how many of each group */
    csimi_tell_hits(w, f);
    csimi_tell_moves(w, f);
    s->told.break_count = s->told.sleep_count = 0; /* sleep is told behind this */
    for (i = 0; i < s->count.joints; i++)
        if (s->joint[i].broke) csimi_tell_break(w, s->joint[i].link);
    for (i = 0; i < s->count.springs; i++)
        if (s->link[s->spring_link[i]].broke) csimi_tell_break(w, s->spring_link[i]);
}

CSIM_API csim_events csim_world_events(const csim_world *w) {
    csim_events e;
    CSIMI_MEMSET(&e, 0, sizeof e);
    if (!w) return e; /* zeros, and no arrays */
    /* the groups stand one behind the other, so that what began is the first part of what touches */
    e.ends = w->store.touch;
    e.end_count = w->touches[CSIMI_ENDS];
    e.begins = e.touching = e.ends + e.end_count;
    e.begin_count = w->touches[CSIMI_BEGINS];
    e.touching_count = e.begin_count + w->touches[CSIMI_STAYS];
    e.sensor_ends = e.touching + e.touching_count;
    e.sensor_end_count = w->touches[CSIMI_LEAVES];
    e.sensor_begins = e.sensing = e.sensor_ends + e.sensor_end_count;
    e.sensor_begin_count = w->touches[CSIMI_ENTERS];
    e.sensing_count = e.sensor_begin_count + w->touches[CSIMI_INSIDE];
    e.hits = w->store.told.hit;
    e.hit_count = w->store.told.hit_count;
    e.moves = w->store.told.move;
    e.move_count = w->store.told.move_count;
    e.breaks = w->store.told.joint_break;
    e.break_count = w->store.told.break_count;
    e.sleeps = w->store.told.sleep;
    e.sleep_count = w->store.told.sleep_count;
    return e;
}
