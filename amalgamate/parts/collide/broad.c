/* collide/broad: sort and sweep along one axis, in lanes along another. A box is tested against the boxes of its lane
   and of the lanes beside it that begin inside it, so small boxes cost only their neighbours; a few long boxes are
   tested against all, so a floor costs O(n). Axes and lanes are chosen without regard to the long boxes. */
#include "private.h"

CSIMI_FN uint32_t csimi_real_key(csim_real x) {
    float f = (float)csimi_clamp(x, CSIM_R(-1e30), CSIM_R(1e30));
    uint32_t bits;
    CSIMI_MEMCPY(&bits, &f, sizeof bits);
    if (bits == 0x80000000u) bits = 0; /* -0 ties with 0 */
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* Passes whose digit is the same everywhere are skipped. */
CSIMI_FN void csimi_radix_sort(int count, uint64_t **order, uint64_t **other) {
    int shift, i, k;
    if (count < 2) return;
    for (shift = 32; shift < 64; shift += 8) {
        int start[256], total = 0;
        uint64_t *from = *order, *to = *other;
        CSIMI_MEMSET(start, 0, sizeof start);
        for (i = 0; i < count; ++i) ++start[from[i] >> shift & 255];
        if (start[from[0] >> shift & 255] == count) continue;
        for (k = 0; k < 256; ++k) {
            int here = start[k];
            start[k] = total;
            total += here;
        }
        for (i = 0; i < count; ++i) to[start[from[i] >> shift & 255]++] = from[i];
        *other = from;
        *order = to;
    }
}

/* Without branches: where boxes lie dense nobody could foretell them, and twice the time would go there. */
static bool csimi_boxes_meet(const csim_real *a, const csim_real *b) {
    return ((a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])) != 0;
}

/* ---- boxes asked for: looked through by groups of 16 that lie near each other */

CSIMI_FN void csimi_crowd_layout(csimi_crowd *c, int count, csimi_arena *arena) {
    c->order = CSIMI_PUSH(arena, uint64_t, count);
    c->other = CSIMI_PUSH(arena, uint64_t, count);
    c->around = CSIMI_PUSH(arena, csim_real, 6 * ((size_t)count / 16 + 1));
}

CSIMI_FN void csimi_crowd_gather(csimi_crowd *c, int count, const uint64_t *list, const csim_real *box) {
    csim_real rate = 0; /* half of the mean of 1 / length, for which a few long boxes do not count */
    int i, k;
    c->count = count;
    c->list = list;
    c->box = box;
    for (i = 0; i < count; ++i) rate += 1 / (2 * (csim_real)count * (box[6 * list[i] + 3] - box[6 * list[i]]));
    for (i = 0; i < count; ++i) {
        const csim_real *b = box + 6 * list[i];
        c->order[i] = (uint32_t)i;
        for (k = 0; k < 3; ++k) /* along a curve of Morton, which begins again after 1024 cells */
            c->order[i] |= (uint64_t)csimi_spread_bits(
                               (uint32_t)csimi_cut(rate * (b[k] + b[3 + k]), -(1 << 30), 1 << 30) & 1023u) << (32 + k);
    }
    csimi_radix_sort(count, &c->order, &c->other);
    for (i = 0; i < count; ++i) {
        const csim_real *own = box + 6 * list[(uint32_t)c->order[i]];
        csim_real *around = c->around + 6 * (i / 16);
        for (k = 0; k < 3; ++k) {
            around[k] = i % 16 ? csimi_min(around[k], own[k]) : own[k];
            around[3 + k] = i % 16 ? csimi_max(around[3 + k], own[3 + k]) : own[3 + k];
        }
    }
}

CSIMI_FN int csimi_crowd_near(const csimi_crowd *c, const csim_real *box, int *near) {
    int i, k, count = 0;
    for (i = 0; i < c->count; ++i) {
        const int place = (int)(uint32_t)c->order[i];
        if (i % 16 == 0 && !csimi_boxes_meet(box, c->around + 6 * (i / 16))) {
            i += 15; /* none of these */
        } else if (csimi_boxes_meet(box, c->box + 6 * c->list[place])) {
            for (k = count++; k > 0 && near[k - 1] > place; --k) near[k] = near[k - 1];
            near[k] = place;
        }
    }
    for (i = 0; i < count; ++i) near[i] = (int)c->list[near[i]];
    return count;
}

/* A few boxes, each against all: no more work than to sort them, and the pairs come in order. */
static int csimi_broad_few(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                           int capacity) {
    int found = 0, i, j, run = 0; /* end of the boxes of one group that follow each other */
    for (i = 0; i < count; ++i) {
        if (run <= i)
            for (run = i + 1; run < count && group[i] >= 0 && group[run] == group[i]; ++run) {
            }
        for (j = run; j < count; ++j) {
            const csim_real *a = lower + 3 * i, *A = upper + 3 * i, *b = lower + 3 * j, *B = upper + 3 * j;
            if (group[i] >= 0 && group[i] == group[j]) continue;
            if (a[0] > B[0] || b[0] > A[0] || a[1] > B[1] || b[1] > A[1] || a[2] > B[2] || b[2] > A[2]) continue;
            if (found++ >= capacity) continue;
            pairs[2 * found - 2] = i;
            pairs[2 * found - 1] = j;
        }
    }
    return found;
}

#ifdef CONDSIM_NO_BROAD
CSIMI_FN size_t csimi_broad_scratch(int count) { return count ? 0 : 0; }

CSIMI_FN int csimi_broad_pairs(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                               int capacity, void *scratch) {
    (void)scratch;
    return csimi_broad_few(count, lower, upper, group, pairs, capacity);
}
#else
enum { CSIMI_BROAD_FEW = 32 }; /* boxes that are not worth sorting */
enum { CSIMI_BROAD_LANES = 256 }; /* at most: positions are told apart far better than these */

typedef struct csimi_broad {
    int count, axis, across; /* of the sweep, of the lanes */
    int lanes;               /* behind them come the long boxes */
    csim_real ordinary;      /* the longest side of those that are not long */
    csim_real from, wide;    /* of the lanes */
    csim_real middle[3];     /* of ordinary boxes */
    uint64_t *order, *other; /* [count] key of the lower end << 32 | index, and room for sorting */
    uint32_t *end;           /* [count] key of the upper end, in sweep order as all below */
    uint64_t *sides;         /* [count] bounds along the other two axes, see csimi_broad_sides */
    csim_real *box;          /* [6 count] lower, upper */
    int *group;              /* [count] */
    int *first, *last;       /* [count + 1] pairs of each i; while they are found first is that of each lane */
} csimi_broad;

static csimi_broad csimi_broad_layout(int count, csimi_arena *arena) {
    csimi_broad s;
    s.count = count;
    s.order = CSIMI_PUSH(arena, uint64_t, count);
    s.other = CSIMI_PUSH(arena, uint64_t, count);
    s.end = CSIMI_PUSH(arena, uint32_t, count);
    s.sides = CSIMI_PUSH(arena, uint64_t, count);
    s.box = CSIMI_PUSH(arena, csim_real, 6 * (size_t)count);
    s.group = CSIMI_PUSH(arena, int, count);
    s.first = CSIMI_PUSH(arena, int, count + 1);
    s.last = CSIMI_PUSH(arena, int, count + 1);
    return s;
}

/* ---- the axis */

static csim_real csimi_longest_side(const csim_real *lower, const csim_real *upper) {
    return csimi_max(upper[0] - lower[0], csimi_max(upper[1] - lower[1], upper[2] - lower[2]));
}

/* The median longest side of up to 63 boxes taken evenly. */
static csim_real csimi_typical_side(int count, const csim_real *lower, const csim_real *upper) {
    csim_real side[63] = {0};
    int samples = csimi_imin(count, 63), i, k;
    for (k = 0; k < samples; ++k) {
        size_t box = 3 * (size_t)(k * (count / samples) + k * (count % samples) / samples);
        csim_real s = csimi_longest_side(lower + box, upper + box);
        for (i = k; i > 0 && side[i - 1] > s; --i) side[i] = side[i - 1];
        side[i] = s;
    }
    return side[samples / 2];
}

/* The axis along which the centres of ordinary boxes vary most, and their mean. */
static void csimi_broad_axis(csimi_broad *s, const csim_real *lower, const csim_real *upper) {
    double sum[3] = {0, 0, 0}, square[3] = {0, 0, 0}, spread[3], origin[3] = {0, 0, 0}, n = 0;
    int i, k;
    s->ordinary = 16 * csimi_typical_side(s->count, lower, upper);
    for (i = 0; i < s->count; ++i) {
        const csim_real *lo = lower + 3 * i, *up = upper + 3 * i;
        if (!(csimi_longest_side(lo, up) <= s->ordinary)) continue;
        for (k = 0; k < 3; ++k) {
            double x = 0.5 * ((double)lo[k] + (double)up[k]);
            if (n == 0) origin[k] = x; /* far from zero the squares would cancel */
            x -= origin[k];
            sum[k] += x;
            square[k] += x * x;
        }
        n += 1;
    }
    for (k = 0; k < 3; ++k) {
        spread[k] = n > 0 ? square[k] - sum[k] * sum[k] / n : 0;
        s->middle[k] = n > 0 ? (csim_real)(origin[k] + sum[k] / n) : 0;
    }
    i = spread[1] > spread[0] ? 1 : 0;
    s->axis = spread[2] > spread[i] ? 2 : i;
    i = (s->axis + 1) % 3, k = (s->axis + 2) % 3;
    s->across = spread[k] > spread[i] ? k : i;
}

/* ---- the lanes */

/* As wide as the widest ordinary box, so that boxes which meet are in one lane or in two beside each other. One lane,
   and no long boxes, where many are long. */
static void csimi_broad_lanes(csimi_broad *s, const csim_real *lower, const csim_real *upper) {
    csim_real most = 0, first = CSIMI_HUGE, last = -CSIMI_HUGE;
    int i, longer = 0;
    for (i = 0; i < s->count; ++i) {
        const csim_real x = lower[3 * i + s->across];
        if (!(csimi_longest_side(lower + 3 * i, upper + 3 * i) <= s->ordinary)) {
            longer++;
            continue;
        }
        most = csimi_max(most, upper[3 * i + s->across] - x);
        first = csimi_min(first, x);
        last = csimi_max(last, x);
    }
    s->lanes = 1;
    s->from = first;
    /* a thousandth more than rounding takes */
    s->wide = csimi_max(CSIM_R(1.001) * most, (last - first) / (CSIMI_BROAD_LANES - 1));
    if (longer > 8 + s->count / 64 || !(s->wide > 0))
        s->ordinary = CSIMI_HUGE * 2; /* beyond all: none is long */
    else
        s->lanes = csimi_imin(1 + (int)((last - first) / s->wide), s->count - 2);
}

static int csimi_broad_lane(const csimi_broad *s, const csim_real *lower, const csim_real *upper) {
    if (!(csimi_longest_side(lower, upper) <= s->ordinary)) return s->lanes;
    return s->lanes > 1 ? csimi_imin((int)((lower[s->across] - s->from) / s->wide), s->lanes - 1) : 0;
}

/* ---- sorting */

/* Bounds along the other two axes, lower ones counted from above: four numbers of 15 bits, each below a set bit. They
   are as fine as a float of 6 bits, seen from the middle of all. */
static uint64_t csimi_broad_sides(const csimi_broad *s, const csim_real *box) {
    uint64_t sides = 0;
    int k;
    for (k = 0; k < 6; ++k) {
        const uint64_t bits = csimi_real_key(box[k] - s->middle[k % 3]) >> 17;
        if (k % 3 != s->axis) sides = sides << 16 | 0x8000u | (k < 3 ? 0x7fffu - bits : bits);
    }
    return sides;
}

static void csimi_broad_gather(csimi_broad *s, const csim_real *lower, const csim_real *upper, const int *group) {
    uint64_t *swap;
    int i;
    for (i = 0; i < s->count; ++i) s->order[i] = (uint64_t)csimi_real_key(lower[3 * i + s->axis]) << 32 | (uint32_t)i;
    csimi_radix_sort(s->count, &s->order, &s->other);
    /* then by lanes: sizes two places up, their sums as starts one place up, which filling moves to the ends */
    CSIMI_MEMSET(s->first, 0, (size_t)(s->lanes + 3) * sizeof *s->first);
    for (i = 0; i < s->count; ++i) ++s->first[csimi_broad_lane(s, lower + 3 * i, upper + 3 * i) + 2];
    for (i = 0; i <= s->lanes; ++i) s->first[i + 2] += s->first[i + 1];
    for (i = 0; i < s->count; ++i) {
        const size_t box = 3 * (size_t)(s->order[i] & 0xffffffffu);
        s->other[s->first[csimi_broad_lane(s, lower + box, upper + box) + 1]++] = s->order[i];
    }
    swap = s->order;
    s->order = s->other;
    s->other = swap;
    for (i = 0; i < s->count; ++i) {
        int box = (int)(s->order[i] & 0xffffffffu);
        CSIMI_MEMCPY(s->box + 6 * i, lower + 3 * box, 3 * sizeof *lower);
        CSIMI_MEMCPY(s->box + 6 * i + 3, upper + 3 * box, 3 * sizeof *upper);
        s->end[i] = csimi_real_key(upper[3 * box + s->axis]);
        s->sides[i] = csimi_broad_sides(s, s->box + 6 * i);
        s->group[i] = group[box];
    }
}

/* ---- the sweep and the order of its pairs */

/* Box p against those from q to stop that begin before its end: writes pairs i < j behind those found, counts those of
   each i in last, and returns how many there are. Most boxes fall to one subtraction: where a number of q is below its
   limit, it takes the bit above it. */
static int csimi_broad_against(csimi_broad *s, int p, uint64_t end, int q, int stop, int *pairs, int capacity,
                               int found) {
    const csim_real *box = s->box + 6 * p;
    const uint64_t limit = ~s->sides[p] << 32 | ~s->sides[p] >> 32;
    const int group = s->group[p];
    for (; q < stop && s->order[q] < end; ++q) {
        int i, j;
        if ((~(s->sides[q] - limit) & 0x8000800080008000ull) != 0) continue;
        if ((group >= 0 && group == s->group[q]) || !csimi_boxes_meet(box, s->box + 6 * q)) continue;
        if (found++ >= capacity) continue;
        i = (int)(s->order[p] & 0xffffffffu);
        j = (int)(s->order[q] & 0xffffffffu);
        pairs[2 * found - 2] = csimi_imin(i, j);
        pairs[2 * found - 1] = csimi_imax(i, j);
        ++s->last[csimi_imin(i, j)];
    }
    return found;
}

static int csimi_broad_sweep(csimi_broad *s, int *pairs, int capacity) {
    const int *first = s->first;
    int found = 0, lane, p;
    for (lane = 0; lane < s->lanes; ++lane) {
        int below = first[csimi_imax(lane - 1, 0)], above = first[lane + 1];
        const int above_stop = lane + 1 < s->lanes ? first[lane + 2] : above;
        for (p = first[lane]; p < first[lane + 1]; ++p) {
            const uint64_t end = ((uint64_t)s->end[p] + 1) << 32;
            /* beside it those that begin behind it: the others meet it from their own lanes */
            while (below < first[lane] && s->order[below] < s->order[p]) ++below;
            while (above < above_stop && s->order[above] < s->order[p]) ++above;
            found = csimi_broad_against(s, p, end, p + 1, first[lane + 1], pairs, capacity, found);
            found = csimi_broad_against(s, p, end, below, first[lane], pairs, capacity, found);
            found = csimi_broad_against(s, p, end, above, above_stop, pairs, capacity, found);
        }
    }
    for (p = first[s->lanes]; p < s->count; ++p) /* long ones: against all before them */
        found = csimi_broad_against(s, p, UINT64_MAX, 0, p, pairs, capacity, found);
    return found;
}

/* Sorts the j of count pairs of one i: Shell's sort, since a floor may have them all. */
static void csimi_sort_partners(int *pairs, int count) {
    int gap = 1, i, k;
    while (gap < count / 9) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (i = gap; i < count; ++i) {
            int j = pairs[2 * i + 1];
            for (k = i; k >= gap && pairs[2 * (k - gap) + 1] > j; k -= gap) pairs[2 * k + 1] = pairs[2 * (k - gap) + 1];
            pairs[2 * k + 1] = j;
        }
}

/* Moves every pair into the range of its i by following cycles, in place, then sorts each range. */
static void csimi_broad_order(csimi_broad *s, int *pairs) {
    int i, total = 0;
    for (i = 0; i < s->count; ++i) {
        s->first[i] = total;
        total += s->last[i];
        s->last[i] = total;
    }
    for (i = 0; i < s->count; ++i) {
        int from = i > 0 ? s->last[i - 1] : 0;
        while (s->first[i] < s->last[i]) {
            int *pair = pairs + 2 * s->first[i], *home = pairs + 2 * s->first[pair[0]];
            int a = pair[0], b = pair[1];
            ++s->first[a];
            if (home == pair) continue;
            pair[0] = home[0];
            pair[1] = home[1];
            home[0] = a;
            home[1] = b;
        }
        csimi_sort_partners(pairs + 2 * from, s->last[i] - from);
    }
}

CSIMI_FN size_t csimi_broad_scratch(int count) {
    csimi_arena arena = csimi_arena_counting();
    csimi_broad_layout(csimi_imax(count, 0), &arena);
    return arena.used + 64; /* the caller's block may start anywhere */
}

CSIMI_FN int csimi_broad_pairs(int count, const csim_real *lower, const csim_real *upper, const int *group, int *pairs,
                               int capacity, void *scratch) {
    csimi_arena arena;
    csimi_broad s;
    int found;
    if (count <= CSIMI_BROAD_FEW) return csimi_broad_few(count, lower, upper, group, pairs, capacity);
    arena = csimi_arena_in(scratch, csimi_broad_scratch(count));
    s = csimi_broad_layout(count, &arena);
    CSIMI_MEMSET(s.last, 0, (size_t)(count + 1) * sizeof *s.last);
    csimi_broad_axis(&s, lower, upper);
    csimi_broad_lanes(&s, lower, upper);
    csimi_broad_gather(&s, lower, upper, group);
    found = csimi_broad_sweep(&s, pairs, capacity);
    csimi_broad_order(&s, pairs);
    return found;
}
#endif
