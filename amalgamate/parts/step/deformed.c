/* step/deformed: the surfaces of solids as volumes that others touch, in any configuration. */
#include "private.h"

CSIMI_FN void csimi_surfaces_layout(csimi_surfaces *s, const csimi_counts *n, csimi_arena *arena) {
    /* csimi_surface_boxes of each: at most four more than triangles */
    size_t boxes = n->triangles > 0 ? (size_t)n->triangles + 4 * (size_t)n->bodies : 0;
    s->x = CSIMI_PUSH(arena, csim_real, 3 * (size_t)n->surface);
    s->box = CSIMI_PUSH(arena, float, 6 * boxes);
    s->of = CSIMI_PUSH(arena, csimi_surface, n->bodies);
    s->made = CSIMI_PUSH(arena, unsigned char, n->bodies);
}

CSIMI_FN void csimi_surfaces_start(csimi_surfaces *s, const csim_world *world, const csimi_state *state) {
    s->world = world;
    s->state = state;
    CSIMI_MEMSET(s->made, 0, (size_t)world->store.count.bodies); /* each is made when first asked for */
}

CSIMI_FN const csimi_surface *csimi_surface_of(csimi_surfaces *s, int slot) {
    const csimi_store *store = &s->world->store;
    const csimi_body *b = store->body + slot;
    csimi_surface *of = s->of + slot;
    csim_real *x = s->x + 3 * (size_t)b->first_surface;
    int i;
    if (s->made[slot]) return of; /* once in a step */
    for (i = 0; i < b->surface_count; i++)
        csimi_store3(x + 3 * (size_t)i,
                     csimi_load3(s->state->x + 3 * (size_t)store->surface_node[b->first_surface + i]));
    of->count = b->triangle_count;
    of->triangle = store->face + 3 * (size_t)b->first_triangle; /* in the order of the tree */
    of->x = x;
    of->box = s->box + 6 * (size_t)store->look.first_box[slot];
    csimi_surface_refit(of); /* the tree keeps its order, only its boxes move */
    s->made[slot] = 1;
    return of;
}

/* No point inside lies deeper than half of the shortest side of the bounds. */
static csim_real csimi_deepest(const csimi_surface *s, csim_vec3 p) {
    const float *box = s->box + csimi_surface_box(1); /* node 1: the whole surface */
    csim_real x[3], side = CSIMI_HUGE;
    int k;
    csimi_store3(x, p);
    for (k = 0; k < 3; k++) {
        if (x[k] < (csim_real)box[4 * k] || x[k] > (csim_real)box[12 + 4 * k]) return 0; /* it is outside */
        side = csimi_min(side, (csim_real)box[12 + 4 * k] - (csim_real)box[4 * k]);
    }
    return side / 2;
}

CSIMI_FN bool csimi_surface_gap(csimi_surfaces *s, int slot, csim_vec3 p, csim_real within, int self,
                                csimi_surface_hit *hit, csim_real *gap) {
    const csimi_surface *surface = csimi_surface_of(s, slot);
    const csimi_body *b = s->world->store.body + slot;
    csimi_surface_skip skip;
    if (self < 0) {
        /* whatever is inside is found, however deep; the factor is for the rounding of half a side */
        csim_real reach = csimi_max(within, csimi_deepest(surface, p) * (1 + 8 * CSIMI_EPS));
        if (!csimi_surface_nearest(surface, p, reach, NULL, hit)) return false;
    } else { /* deeper than half the distance that keeps neighbours apart, "inside" would mean the solid's own inside */
        skip.sheet = false;
        skip.vertex = self;
        skip.rest = s->world->store.surface_rest + 3 * (size_t)b->first_surface;
        skip.radius = b->self_distance;
        if (!csimi_surface_nearest(surface, p, csimi_max(within, b->self_distance / 2), &skip, hit)) return false;
        if (hit->inside && hit->distance > b->self_distance / 2) return false; /* `within` may reach farther */
    }
    *gap = hit->inside ? -hit->distance : hit->distance;
    return true;
}
