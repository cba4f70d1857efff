/* sparse/aggregate: cuts a graph into pieces of like size: seeds far apart, then Voronoi cells around their centres. */
#include "private.h"

enum { CSIMI_UNREACHED = 0x7fffffff };

CSIMI_FN size_t csimi_aggregate_scratch(int n) { return 4 * (size_t)n + 1; }

/* Lowers distance[] by a breadth-first walk from the nodes in queue[0 .. tail), which hold their distance already;
   a node goes to the aggregate of the first that reaches it. */
static void csimi_aggregate_walk(const int *row, const int *col, int tail, int *queue, int *distance, int *aggregate) {
    int head, k;
    for (head = 0; head < tail; head++) {
        int i = queue[head];
        for (k = row[i]; k < row[i + 1]; k++) {
            int j = col[k];
            if (distance[j] <= distance[i] + 1) continue;
            distance[j] = distance[i] + 1;
            aggregate[j] = aggregate[i];
            queue[tail++] = j;
        }
    }
}

/* Farthest-point seeds: node 0, then again and again the node with the most edges to the nearest seed (pieces of the
   graph without one count as infinitely far). Returns how many there are, at most count. */
static int csimi_aggregate_seeds(int n, const int *row, const int *col, int count, int *seed, int *aggregate,
                                 int *distance, int *queue) {
    int made, i, next = 0;
    for (i = 0; i < n; i++) {
        distance[i] = CSIMI_UNREACHED;
        aggregate[i] = -1;
    }
    for (made = 0; made < count && distance[next] > 0; made++) {
        seed[made] = next;
        distance[next] = 0;
        aggregate[next] = made;
        queue[0] = next;
        csimi_aggregate_walk(row, col, 1, queue, distance, aggregate);
        for (next = 0, i = 1; i < n; i++)
            if (distance[i] > distance[next]) next = i;
    }
    return made;
}

static double csimi_aggregate_square(const csim_real *x, int i, const double *c) {
    double d0 = (double)x[3 * i] - c[0], d1 = (double)x[3 * i + 1] - c[1], d2 = (double)x[3 * i + 2] - c[2];
    return d0 * d0 + d1 * d1 + d2 * d2;
}

/* All nodes to the nearest seed along the graph; pieces without a seed to the seed nearest in space. */
static void csimi_aggregate_voronoi(int n, const int *row, const int *col, const csim_real *x, int made,
                                    const int *seed, int *aggregate, int *distance, int *queue) {
    int i, k;
    for (i = 0; i < n; i++) distance[i] = CSIMI_UNREACHED;
    for (k = 0; k < made; k++) {
        queue[k] = seed[k];
        distance[seed[k]] = 0;
        aggregate[seed[k]] = k;
    }
    csimi_aggregate_walk(row, col, made, queue, distance, aggregate);
    for (i = 0; i < n; i++) {
        double best = 1e300, c[3], d;
        if (distance[i] < CSIMI_UNREACHED) continue;
        aggregate[i] = 0;
        c[0] = (double)x[3 * i];
        c[1] = (double)x[3 * i + 1];
        c[2] = (double)x[3 * i + 2];
        for (k = 0; k < made; k++) {
            d = csimi_aggregate_square(x, seed[k], c);
            if (!(d < best)) continue;
            best = d;
            aggregate[i] = k;
        }
    }
}

/* Seeds in the order of their distance along the graph from one of them: neighbours get like numbers, so that matrices
   of the aggregates have short rows and nodes that are numbered by aggregate lie near each other. */
static void csimi_aggregate_order(int n, const int *row, const int *col, int made, int *seed, int *aggregate,
                                  int *distance, int *queue) {
    int i, k;
    for (i = 0; i < n; i++) distance[i] = CSIMI_UNREACHED;
    distance[queue[0] = seed[made > 1]] = 0; /* the second seed is farthest from the first: at an end of the body */
    csimi_aggregate_walk(row, col, 1, queue, distance, aggregate);
    for (i = 1; i < made; i++) {
        const int s = seed[i];
        for (k = i; k > 0 && distance[seed[k - 1]] > distance[s]; k--) seed[k] = seed[k - 1];
        seed[k] = s;
    }
}

/* Moves every seed to the node nearest to the centre of its aggregate (Lloyd). */
static void csimi_aggregate_centre(int n, const csim_real *x, int made, int *seed, const int *aggregate, int *first,
                                   int *order) {
    int i, k, a;
    for (a = 0; a <= made; a++) first[a] = 0;
    for (i = 0; i < n; i++) first[aggregate[i]]++;
    for (a = 0; a < made; a++) first[a + 1] += first[a];
    for (i = n - 1; i >= 0; i--) order[--first[aggregate[i]]] = i;
    for (a = 0; a < made; a++) {
        double c[3] = {0, 0, 0}, best = 1e300, size = first[a + 1] - first[a];
        for (k = first[a]; k < first[a + 1]; k++)
            for (i = 0; i < 3; i++) c[i] += (double)x[3 * order[k] + i] / size;
        for (k = first[a]; k < first[a + 1]; k++) {
            double d = csimi_aggregate_square(x, order[k], c);
            if (!(d < best)) continue;
            best = d;
            seed[a] = order[k];
        }
    }
}

CSIMI_FN int csimi_aggregate(int n, const int *row, const int *col, const csim_real *x, int count, int *aggregate,
                             int *scratch) {
    int *distance = scratch, *queue = distance + n, *seed = queue + n, *first = seed + n, made, pass;
    if (n < 1) return 0;
    made = csimi_aggregate_seeds(n, row, col, csimi_imin(csimi_imax(count, 1), n), seed, aggregate, distance, queue);
    for (pass = 0; pass < 3; pass++) {
        if (pass == 2) csimi_aggregate_order(n, row, col, made, seed, aggregate, distance, queue);
        csimi_aggregate_voronoi(n, row, col, x, made, seed, aggregate, distance, queue);
        if (pass < 2) csimi_aggregate_centre(n, x, made, seed, aggregate, first, queue);
    }
    return made;
}
