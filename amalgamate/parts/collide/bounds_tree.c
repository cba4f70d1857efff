/* collide/bounds_tree: a tree of boxes that is kept from step to step. */
#include "private.h"

enum { CSIMI_BOUNDS_BINS = 12 };
enum { CSIMI_BOUNDS_EVEN = 28 }; /* below this depth ranges are halved: 28 levels and 31 halvings fit the stacks */
static const csim_real CSIMI_BOUNDS_WIDE = CSIM_R(1e12);
enum { CSIMI_BOUNDS_LEAN = 4 }; /* levels that one side of a node may be higher than the other, where it changes */
static const double CSIMI_BOUNDS_DECAY = 1.3; /* times the cost when built */

CSIMI_FN void csimi_bounds_layout(csimi_bounds_tree *t, int capacity, csimi_arena *arena) {
    const size_t n = (size_t)capacity;
    t->capacity = capacity;
    t->node = CSIMI_PUSH(arena, csimi_bounds_node, 2 * n);
    t->parent = CSIMI_PUSH(arena, int, 2 * n);
    t->height = CSIMI_PUSH(arena, int, 2 * n);
    t->leaf_node = CSIMI_PUSH(arena, int, n);
    t->wide = CSIMI_PUSH(arena, int, n);
    t->order = CSIMI_PUSH(arena, int, n);
    t->box = CSIMI_PUSH(arena, csimi_bounds_node, n);
}

CSIMI_FN void csimi_bounds_clear(csimi_bounds_tree *t) {
    t->root = t->free_node = t->free_leaf = -1;
    t->node_high = t->leaf_high = t->count = t->wide_count = t->changes = 0;
    t->built = 0;
}

CSIMI_FN void csimi_bounds_copy(csimi_bounds_tree *to, const csimi_bounds_tree *from) {
    csimi_bounds_tree own = *to;
    *to = *from;
    to->capacity = own.capacity;
    to->node = own.node;
    to->parent = own.parent;
    to->height = own.height;
    to->leaf_node = own.leaf_node;
    to->wide = own.wide;
    to->order = own.order;
    to->box = own.box;
    if (from->node_high > 0) {
        CSIMI_MEMCPY(to->node, from->node, sizeof *to->node * (size_t)from->node_high);
        CSIMI_MEMCPY(to->parent, from->parent, sizeof *to->parent * (size_t)from->node_high);
        CSIMI_MEMCPY(to->height, from->height, sizeof *to->height * (size_t)from->node_high);
    }
    if (from->leaf_high > 0) {
        CSIMI_MEMCPY(to->leaf_node, from->leaf_node, sizeof *to->leaf_node * (size_t)from->leaf_high);
        CSIMI_MEMCPY(to->wide, from->wide, sizeof *to->wide * (size_t)from->wide_count);
    }
}

/* ---- boxes */

static float csimi_bounds_below(csim_real x) {
    const float f = (float)csimi_clamp(x, CSIM_R(-1e30), CSIM_R(1e30));
    return f - (f < 0 ? -f : f) * 2.4e-7f - 1e-35f;
}

static void csimi_bounds_box(csimi_bounds_node *n, csim_vec3 lower, csim_vec3 upper, csim_real ahead) {
    csim_real low[3], high[3];
    int k;
    csimi_store3(low, lower);
    csimi_store3(high, upper);
    for (k = 0; k < 3; k++) {
        n->lower[k] = csimi_bounds_below(low[k] - ahead);
        n->upper[k] = -csimi_bounds_below(-high[k] - ahead);
    }
}

static float csimi_bounds_least(float a, float b) { return a < b ? a : b; }
static float csimi_bounds_most(float a, float b) { return a > b ? a : b; }

static void csimi_bounds_unite(csimi_bounds_node *to, const csimi_bounds_node *a, const csimi_bounds_node *b) {
    int k;
    for (k = 0; k < 3; k++) {
        to->lower[k] = csimi_bounds_least(a->lower[k], b->lower[k]);
        to->upper[k] = csimi_bounds_most(a->upper[k], b->upper[k]);
    }
}

static bool csimi_bounds_holds(const csimi_bounds_node *a, const csimi_bounds_node *b) {
    int k;
    for (k = 0; k < 3; k++)
        if (b->lower[k] < a->lower[k] || b->upper[k] > a->upper[k]) return false;
    return true;
}

/* Half its surface. */
static double csimi_bounds_area(const csimi_bounds_node *n) {
    const double x = (double)n->upper[0] - (double)n->lower[0], y = (double)n->upper[1] - (double)n->lower[1];
    const double z = (double)n->upper[2] - (double)n->lower[2];
    return x * y + y * z + z * x;
}

static bool csimi_bounds_is_wide(csim_vec3 lower, csim_vec3 upper) {
    const csim_vec3 d = csim_sub(upper, lower);
    return !(csimi_max(d.x, csimi_max(d.y, d.z)) < CSIMI_BOUNDS_WIDE);
}

/* ---- nodes and leaves */

static int csimi_bounds_take(csimi_bounds_tree *t) {
    int n = t->free_node;
    if (n < 0) {
        CONDSIM_ASSERT(t->node_high < 2 * t->capacity);
        n = t->node_high++;
    } else {
        t->free_node = t->parent[n];
    }
    t->parent[n] = -1;
    t->height[n] = 0;
    return n;
}

static void csimi_bounds_give(csimi_bounds_tree *t, int n) {
    t->parent[n] = t->free_node;
    t->free_node = n;
}

static void csimi_bounds_refit(csimi_bounds_tree *t, int n) {
    csimi_bounds_node *node = t->node + n;
    csimi_bounds_unite(node, t->node + node->left, t->node + node->right);
    t->height[n] = 1 + csimi_imax(t->height[node->left], t->height[node->right]);
}

/* Where one side of a node is much higher than the other, its higher half changes places with the other side: boxes
   that come in a row would make a chain. */
static void csimi_bounds_balance(csimi_bounds_tree *t, int n) {
    csimi_bounds_node *node = t->node + n;
    const bool right = t->height[node->right] > t->height[node->left];
    int *low = right ? &node->left : &node->right, *high;
    const int side = right ? node->right : node->left, other = *low;
    if (t->height[side] <= t->height[other] + CSIMI_BOUNDS_LEAN) return;
    high = t->height[t->node[side].right] > t->height[t->node[side].left] ? &t->node[side].right : &t->node[side].left;
    *low = *high;
    *high = other;
    t->parent[*low] = n;
    t->parent[other] = side;
    csimi_bounds_refit(t, side);
}

/* The box and height of a node and all above it, from those below. */
static void csimi_bounds_renew(csimi_bounds_tree *t, int n) {
    for (; n >= 0; n = t->parent[n]) {
        csimi_bounds_balance(t, n);
        csimi_bounds_refit(t, n);
    }
}

/* The node that a new box becomes the neighbour of: down to where pairing adds least surface, that of the boxes above
   counted. */
static int csimi_bounds_sibling(const csimi_bounds_tree *t, const csimi_bounds_node *box) {
    int n = t->root;
    csimi_bounds_node both;
    while (t->node[n].left >= 0) {
        const csimi_bounds_node *node = t->node + n;
        double here, inherited, cost[2];
        int k;
        csimi_bounds_unite(&both, node, box);
        here = 2 * csimi_bounds_area(&both);
        inherited = here - 2 * csimi_bounds_area(node);
        for (k = 0; k < 2; k++) {
            const csimi_bounds_node *child = t->node + (k ? node->right : node->left);
            csimi_bounds_unite(&both, child, box);
            cost[k] = inherited + csimi_bounds_area(&both) - (child->left >= 0 ? csimi_bounds_area(child) : 0);
        }
        if (here <= cost[0] && here <= cost[1]) break;
        n = cost[0] <= cost[1] ? node->left : node->right;
    }
    return n;
}

static void csimi_bounds_link(csimi_bounds_tree *t, int n) {
    int sibling, above, pair;
    if (t->root < 0) {
        t->root = n;
        t->parent[n] = -1;
        return;
    }
    sibling = csimi_bounds_sibling(t, t->node + n);
    above = t->parent[sibling];
    pair = csimi_bounds_take(t);
    t->node[pair].left = sibling;
    t->node[pair].right = n;
    t->parent[pair] = above;
    t->parent[sibling] = t->parent[n] = pair;
    if (above < 0)
        t->root = pair;
    else if (t->node[above].left == sibling)
        t->node[above].left = pair;
    else
        t->node[above].right = pair;
    csimi_bounds_renew(t, pair);
}

/* Room for a change: a tree that grew deep, or that many leaves were put into, is built anew. */
static void csimi_bounds_changed(csimi_bounds_tree *t) {
    t->changes++;
    if (t->root >= 0 && (t->height[t->root] >= CSIMI_BOUNDS_DEPTH - 2 || t->changes > t->count + 64))
        csimi_bounds_tend(t, true);
}

CSIMI_FN int csimi_bounds_insert(csimi_bounds_tree *t, csim_vec3 lower, csim_vec3 upper) {
    int leaf = t->free_leaf, n;
    if (leaf >= 0)
        t->free_leaf = -2 - t->leaf_node[leaf];
    else
        leaf = t->leaf_high++;
    CONDSIM_ASSERT(leaf < t->capacity);
    if (csimi_bounds_is_wide(lower, upper)) {
        t->leaf_node[leaf] = -1;
        t->wide[t->wide_count++] = leaf;
        return leaf;
    }
    n = csimi_bounds_take(t);
    csimi_bounds_box(t->node + n, lower, upper, 0);
    t->node[n].left = t->node[n].right = ~leaf;
    t->leaf_node[leaf] = n;
    t->count++;
    csimi_bounds_link(t, n);
    csimi_bounds_changed(t);
    return leaf;
}

CSIMI_FN void csimi_bounds_remove(csimi_bounds_tree *t, int leaf) {
    const int n = t->leaf_node[leaf];
    int above, other, i;
    t->leaf_node[leaf] = -2 - t->free_leaf;
    t->free_leaf = leaf;
    if (n < 0) {
        for (i = 0; t->wide[i] != leaf; i++) {
        }
        for (--t->wide_count; i < t->wide_count; i++) t->wide[i] = t->wide[i + 1];
        return;
    }
    t->count--;
    t->changes++;
    above = t->parent[n];
    csimi_bounds_give(t, n);
    if (above < 0) {
        t->root = -1;
        return;
    }
    other = t->node[above].left == n ? t->node[above].right : t->node[above].left;
    i = t->parent[above];
    t->parent[other] = i;
    csimi_bounds_give(t, above);
    if (i < 0) {
        t->root = other;
        return;
    }
    if (t->node[i].left == above)
        t->node[i].left = other;
    else
        t->node[i].right = other;
    csimi_bounds_renew(t, i);
}

CSIMI_FN bool csimi_bounds_fits(const csimi_bounds_tree *t, int leaf, csim_vec3 lower, csim_vec3 upper) {
    csimi_bounds_node box;
    const int n = t->leaf_node[leaf];
    if (n < 0) return true;
    csimi_bounds_box(&box, lower, upper, 0);
    return csimi_bounds_holds(t->node + n, &box);
}

CSIMI_FN bool csimi_bounds_move(csimi_bounds_tree *t, int leaf, csim_vec3 lower, csim_vec3 upper, csim_real ahead) {
    csimi_bounds_node box;
    int n = t->leaf_node[leaf];
    if (csimi_bounds_fits(t, leaf, lower, upper)) return false;
    csimi_bounds_box(&box, lower, upper, ahead);
    CSIMI_MEMCPY(t->node[n].lower, box.lower, sizeof box.lower);
    CSIMI_MEMCPY(t->node[n].upper, box.upper, sizeof box.upper);
    for (n = t->parent[n]; n >= 0 && !csimi_bounds_holds(t->node + n, &box); n = t->parent[n])
        csimi_bounds_unite(t->node + n, t->node + n, &box);
    t->changes++;
    return true;
}

/* ---- building */

/* Surface of all inner boxes: what a ray that meets the world is expected to test. */
static double csimi_bounds_cost(const csimi_bounds_tree *t) {
    double sum = 0;
    int i;
    for (i = 0; i < t->leaf_high; i++) { /* an inner node is counted by the last leaf of its left side */
        int n = t->leaf_node[i];
        while (n >= 0 && t->parent[n] >= 0 && t->node[t->parent[n]].right == n) n = t->parent[n];
        if (n >= 0 && t->parent[n] >= 0) sum += csimi_bounds_area(t->node + t->parent[n]);
    }
    return sum;
}

static double csimi_bounds_middle(const csimi_bounds_node *n, int axis) {
    return (double)n->lower[axis] + (double)n->upper[axis];
}

static void csimi_bounds_empty(csimi_bounds_node *n) {
    int k;
    for (k = 0; k < 3; k++) {
        n->lower[k] = 3e38f;
        n->upper[k] = -3e38f;
    }
}

/* Bin of a box along an axis. */
static int csimi_bounds_bin(const csimi_bounds_node *n, int axis, double low, double scale) {
    const double bin = (csimi_bounds_middle(n, axis) - low) * scale;
    return bin > 0 ? bin < (double)CSIMI_BOUNDS_BINS ? (int)bin : CSIMI_BOUNDS_BINS - 1 : 0;
}

/* The bin before which to cut so that surface times number is least; 0: nowhere. */
static int csimi_bounds_cut(const csimi_bounds_node *boxes, const int *order, int count, int axis, double low,
                            double scale) {
    csimi_bounds_node bin[CSIMI_BOUNDS_BINS], sum;
    int number[CSIMI_BOUNDS_BINS], i, best = 0, left = 0;
    double right[CSIMI_BOUNDS_BINS], least = 0;
    for (i = 0; i < CSIMI_BOUNDS_BINS; i++) {
        csimi_bounds_empty(bin + i);
        number[i] = 0;
    }
    for (i = 0; i < count; i++) {
        const csimi_bounds_node *box = boxes + order[i];
        const int b = csimi_bounds_bin(box, axis, low, scale);
        csimi_bounds_unite(bin + b, bin + b, box);
        number[b]++;
    }
    csimi_bounds_empty(&sum);
    for (i = CSIMI_BOUNDS_BINS - 1; i > 0; i--) {
        left += number[i];
        if (number[i] > 0) csimi_bounds_unite(&sum, &sum, bin + i);
        right[i] = left > 0 ? (double)left * csimi_bounds_area(&sum) : 0;
    }
    csimi_bounds_empty(&sum);
    for (i = 1, left = 0; i < CSIMI_BOUNDS_BINS; i++) {
        left += number[i - 1];
        if (number[i - 1] > 0) csimi_bounds_unite(&sum, &sum, bin + i - 1);
        if (left == 0 || left == count) continue;
        right[i] += (double)left * csimi_bounds_area(&sum);
        if (best > 0 && right[i] >= least) continue;
        least = right[i];
        best = i;
    }
    return best;
}

/* Parts the leaves of a range in two; returns how many come first. */
static int csimi_bounds_part(const csimi_bounds_node *boxes, int *order, int count, int depth) {
    double low[3], high[3], scale;
    int i, k, axis = 0, cut, left = 0;
    if (count <= 2 || depth >= CSIMI_BOUNDS_EVEN) return count / 2;
    for (k = 0; k < 3; k++) {
        low[k] = high[k] = csimi_bounds_middle(boxes + order[0], k);
        for (i = 1; i < count; i++) {
            const double x = csimi_bounds_middle(boxes + order[i], k);
            if (x < low[k]) low[k] = x;
            if (x > high[k]) high[k] = x;
        }
        if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
    }
    if (!(high[axis] > low[axis])) return count / 2;
    scale = (double)CSIMI_BOUNDS_BINS / (high[axis] - low[axis]);
    cut = csimi_bounds_cut(boxes, order, count, axis, low[axis], scale);
    if (cut == 0) return count / 2;
    for (i = 0; i < count; i++)
        if (csimi_bounds_bin(boxes + order[i], axis, low[axis], scale) < cut) {
            const int swap = order[i];
            order[i] = order[left];
            order[left++] = swap;
        }
    return left;
}

/* What is left to build: leaves order[first .. first + count), under a node, on its left or right. */
typedef struct csimi_bounds_range {
    int first, count, above, depth;
    bool right;
} csimi_bounds_range;

static void csimi_bounds_build(csimi_bounds_tree *t) {
    csimi_bounds_range stack[CSIMI_BOUNDS_DEPTH];
    int top = 0, i;
    stack[top].first = stack[top].depth = 0;
    stack[top].count = t->count;
    stack[top].above = -1;
    stack[top++].right = false;
    while (top > 0) {
        const csimi_bounds_range r = stack[--top];
        const int n = csimi_bounds_take(t);
        int left;
        t->parent[n] = r.above;
        if (r.above < 0)
            t->root = n;
        else if (r.right)
            t->node[r.above].right = n;
        else
            t->node[r.above].left = n;
        if (r.count == 1) {
            t->node[n] = t->box[t->order[r.first]];
            t->leaf_node[~t->node[n].left] = n;
            continue;
        }
        left = csimi_bounds_part(t->box, t->order + r.first, r.count, r.depth);
        CONDSIM_ASSERT(top + 2 <= CSIMI_BOUNDS_DEPTH);
        for (i = 1; i >= 0; i--) { /* the left half is built next: it follows its parent in memory */
            csimi_bounds_range *half = stack + top++;
            half->first = r.first + (i ? left : 0);
            half->count = i ? r.count - left : left;
            half->above = n;
            half->depth = r.depth + 1;
            half->right = i == 1;
        }
    }
    for (i = t->node_high - 1; i >= 0; i--) { /* children lie behind their parents */
        csimi_bounds_node *n = t->node + i;
        if (n->left < 0) continue;
        csimi_bounds_unite(n, t->node + n->left, t->node + n->right);
        t->height[i] = 1 + csimi_imax(t->height[n->left], t->height[n->right]);
    }
}

CSIMI_FN void csimi_bounds_tend(csimi_bounds_tree *t, bool always) {
    int i, count = 0;
    if (!always) {
        if (t->changes <= t->count / 4 + 16) return;
        t->changes = 0;
        if (csimi_bounds_cost(t) <= CSIMI_BOUNDS_DECAY * t->built) return;
    }
    for (i = 0; i < t->leaf_high; i++)
        if (t->leaf_node[i] >= 0) {
            t->order[count] = count;
            t->box[count++] = t->node[t->leaf_node[i]];
        }
    CONDSIM_ASSERT(count == t->count);
    t->root = t->free_node = -1;
    t->node_high = t->changes = 0;
    if (count > 0) csimi_bounds_build(t);
    t->built = csimi_bounds_cost(t);
}

/* ---- walks. Stacks hold one waiting child a level. */

CSIMI_FN void csimi_bounds_walk_in(csimi_bounds_walk *w, const csimi_bounds_tree *t, csim_vec3 lower, csim_vec3 upper) {
    w->tree = t;
    csimi_store3(w->lower, lower);
    csimi_store3(w->upper, upper);
    w->stack[0] = t->root;
    w->top = t->root >= 0;
    w->wide = 0;
}

CSIMI_FN int csimi_bounds_next(csimi_bounds_walk *w) {
    const csimi_bounds_tree *t = w->tree;
    if (w->wide < t->wide_count) return t->wide[w->wide++];
    while (w->top > 0) {
        const csimi_bounds_node *n = t->node + w->stack[--w->top];
        int k;
        for (k = 0; k < 3; k++)
            if (!((csim_real)n->lower[k] <= w->upper[k] && (csim_real)n->upper[k] >= w->lower[k])) break;
        if (k < 3) continue;
        if (n->left < 0) return ~n->left;
        CONDSIM_ASSERT(w->top + 2 <= CSIMI_BOUNDS_DEPTH);
        w->stack[w->top++] = n->right;
        w->stack[w->top++] = n->left;
    }
    return -1;
}

CSIMI_FN void csimi_ray_inverse(csim_vec3 way, csim_real *inverse) {
    const csim_real least = CSIM_R(1e-25);
    csim_real w[3];
    int k;
    csimi_store3(w, way);
    for (k = 0; k < 3; k++) inverse[k] = 1 / (csimi_abs(w[k]) > least ? w[k] : least);
}

CSIMI_FN void csimi_bounds_ray_along(csimi_bounds_ray *r, const csimi_bounds_tree *t, csim_vec3 origin, csim_vec3 way,
                                     csim_vec3 half, csim_real most) {
    r->tree = t;
    csimi_store3(r->origin, origin);
    csimi_store3(r->half, half);
    csimi_ray_inverse(way, r->inverse);
    r->most = most;
    r->enter[0] = 0;
    r->stack[0] = t->root;
    r->top = t->root >= 0;
    r->wide = 0;
}

/* Where the ray enters a box; false: nowhere. The end is taken a little late, for the roundings of both (Ize 2013). */
static bool csimi_bounds_meets(const csimi_bounds_ray *r, const csimi_bounds_node *n, csim_real *enter) {
    csim_real first = 0, last = r->most;
    int k;
    for (k = 0; k < 3; k++) {
        const csim_real a = ((csim_real)n->lower[k] - r->half[k] - r->origin[k]) * r->inverse[k];
        const csim_real b = ((csim_real)n->upper[k] + r->half[k] - r->origin[k]) * r->inverse[k];
        first = csimi_max(first, csimi_min(a, b));
        last = csimi_min(last, csimi_max(a, b));
    }
    *enter = first;
    return first <= last * (1 + 8 * CSIMI_EPS);
}

CSIMI_FN int csimi_bounds_ray_next(csimi_bounds_ray *r) {
    const csimi_bounds_tree *t = r->tree;
    if (r->wide < t->wide_count) return t->wide[r->wide++];
    while (r->top > 0) {
        int n = r->stack[--r->top];
        if (r->enter[r->top] > r->most) continue;
        while (t->node[n].left >= 0) {
            const int left = t->node[n].left, right = t->node[n].right;
            csim_real a, b;
            const bool at_left = csimi_bounds_meets(r, t->node + left, &a);
            const bool at_right = csimi_bounds_meets(r, t->node + right, &b);
            if (at_left && at_right) { /* the farther one waits */
                CONDSIM_ASSERT(r->top < CSIMI_BOUNDS_DEPTH);
                r->stack[r->top] = a <= b ? right : left;
                r->enter[r->top++] = csimi_max(a, b);
                n = a <= b ? left : right;
            } else if (at_left || at_right) {
                n = at_left ? left : right;
            } else {
                break;
            }
        }
        if (t->node[n].left < 0) return ~t->node[n].left;
    }
    return -1;
}

CSIMI_FN void csimi_bounds_near_to(csimi_bounds_near *q, const csimi_bounds_tree *t, csim_vec3 point, csim_real most) {
    q->tree = t;
    csimi_store3(q->point, point);
    q->most = most;
    q->distance[0] = 0;
    q->stack[0] = t->root;
    q->top = t->root >= 0;
    q->wide = 0;
}

static csim_real csimi_bounds_off(const csimi_bounds_near *q, const csimi_bounds_node *n) {
    csim_real sum = 0;
    int k;
    for (k = 0; k < 3; k++) {
        const csim_real d = csimi_max(csimi_max((csim_real)n->lower[k] - q->point[k],
                                                q->point[k] - (csim_real)n->upper[k]), 0);
        sum += d * d;
    }
    return sum;
}

CSIMI_FN int csimi_bounds_near_next(csimi_bounds_near *q) {
    const csimi_bounds_tree *t = q->tree;
    if (q->wide < t->wide_count) return t->wide[q->wide++];
    while (q->top > 0) {
        int n = q->stack[--q->top];
        if (q->distance[q->top] > q->most) continue;
        while (t->node[n].left >= 0) {
            const int left = t->node[n].left, right = t->node[n].right;
            const csim_real a = csimi_bounds_off(q, t->node + left), b = csimi_bounds_off(q, t->node + right);
            if (csimi_min(a, b) > q->most) break;
            if (csimi_max(a, b) <= q->most) {
                CONDSIM_ASSERT(q->top < CSIMI_BOUNDS_DEPTH);
                q->stack[q->top] = a <= b ? right : left;
                q->distance[q->top++] = csimi_max(a, b);
            }
            n = a <= b ? left : right;
        }
        if (t->node[n].left < 0) return ~t->node[n].left;
    }
    return -1;
}
