/* search: ten thousand worlds on as many ranks as there are. A ball is thrown at two boxes on each other, each time in
   another way; which throw moves the upper one farthest? Rank 0 lets the tower settle and sends the world to the
   others as the bytes of a snapshot; they run their share, a block of worlds at a time, and send back a hash and a
   score of each. The best world comes back as bytes, too, and rank 0 looks at it. The hashes are those of one process:
   the same bits.

       mpicc -O2 search.c -lm -o search
       mpirun -n 4 ./search [--worlds 10000] [--lose RANK]

   A rank that falls silent holds nothing up: when no block is left, those that were given out and have not come back
   are given out again, and the first answer counts; any answer is the same. --lose RANK: that rank stops in the middle
   of its second block and answers no more. */
#define CONDSIM_IMPLEMENTATION
#include "../../../condsim.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 50, STEPS = 15, TAG_ASK = 1, TAG_BLOCK, TAG_ANSWER, TAG_WORLD };

typedef struct answer {
    uint64_t hash;
    double score; /* m */
} answer;

typedef struct setup {
    csim_world *world;
    csim_body_id top, ball;
    void *start; /* the settled world */
    size_t bytes;
} setup;

static void fail(const char *what) {
    fprintf(stderr, "search: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- one world */

/* The same bodies on every rank: a snapshot is of a world with the same definition. */
static void build(setup *s) {
    csim_world_def def = csim_default_world_def();
    csim_rigid_def body = csim_default_rigid_def();
    csim_shape box = csim_box(csim_v3(0.25, 0.25, 0.25)), ball = csim_sphere(CSIM_R(0.15));
    csim_body_id ground;
    csim_error error;
    int i;
    def.solver.tolerance = CSIM_R(1e-3);
    if (csim_create_world(&def, &s->world, &error) != CSIM_OK) fail(error.text);
    csim_create_ground(s->world, csim_v3(0, 0, 0), csim_v3(0, 0, 1), CSIM_R(0.5), &ground);
    body.shape_count = 1, body.shapes = &box;
    for (i = 0; i < 2; ++i) {
        body.pose.position = csim_v3(0, 0, CSIM_R(0.26) + CSIM_R(0.51) * (csim_real)i);
        if (csim_create_rigid(s->world, &body, &s->top) != CSIM_OK) fail(csim_last_error(s->world));
    }
    body.shapes = &ball, body.mass = 60;
    body.pose.position = csim_v3(-2, 0, CSIM_R(0.15));
    if (csim_create_rigid(s->world, &body, &s->ball) != CSIM_OK) fail(csim_last_error(s->world));
}

/* A number in 0..1 that depends on a world's index and a place alone. */
static double draw(int index, int place) {
    uint64_t x = (uint64_t)index * 0x9e3779b97f4a7c15u + (uint64_t)place * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

static answer run(setup *s, int index) {
    csim_vec3 velocity = csim_v3((csim_real)(5 + 5 * draw(index, 0)), (csim_real)(draw(index, 1) - 0.5),
                                 (csim_real)(1 + 4 * draw(index, 2)));
    csim_pose pose;
    answer a;
    int i;
    if (csim_world_restore(s->world, s->start, s->bytes) != CSIM_OK) fail(csim_last_error(s->world));
    csim_body_set_velocity(s->world, s->ball, velocity, csim_v3(0, 0, 0));
    for (i = 0; i < STEPS; ++i)
        if (csim_world_step(s->world, CSIM_R(1) / 30) != CSIM_OK) fail(csim_last_error(s->world));
    csim_body_get_pose(s->world, s->top, &pose);
    a.hash = csim_world_hash(s->world);
    a.score = (double)pose.position.x;
    return a;
}

static void *save(const csim_world *w, size_t *bytes) {
    void *out;
    if (csim_world_save(w, NULL, bytes) != CSIM_OK || (out = malloc(*bytes)) == NULL) fail("a snapshot");
    if (csim_world_save(w, out, bytes) != CSIM_OK) fail("a snapshot");
    return out;
}

/* ---- rank 0: gives out blocks, takes answers; never waits for one rank alone */

typedef struct block {
    int first, count, given; /* how often */
    bool done;
} block;

static block *next_block(block *b, int blocks) { /* what was given out least; null: all are back */
    block *best = NULL;
    int i;
    for (i = 0; i < blocks; ++i)
        if (!b[i].done && (!best || b[i].given < best->given)) best = b + i;
    return best;
}

static void take(block *b, const answer *from, answer *all, int *left, int *again) {
    if (b->done) return;
    memcpy(all + b->first, from, sizeof *from * (size_t)b->count);
    b->done = true;
    *left -= 1;
    if (b->given > 1) *again += b->count;
}

static void lead(block *b, int blocks, answer *all, int *again) {
    answer got[BLOCK + 1]; /* the last one's hash: which block */
    int left = blocks;
    while (left > 0) {
        int order = -1;
        MPI_Status status;
        block *next;
        MPI_Recv(got, sizeof got, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_ANSWER) take(b + got[BLOCK].hash, got, all, &left, again);
        next = next_block(b, blocks);
        if (next) order = (int)(next - b), next->given++;
        MPI_Send(&order, 1, MPI_INT, status.MPI_SOURCE, TAG_BLOCK, MPI_COMM_WORLD);
    }
}

/* Who brought the last answer has its end; the others that are at work get theirs when they ask. */
static void dismiss(int working) {
    answer got[BLOCK + 1];
    for (--working; working > 0; --working) {
        const int order = -1;
        MPI_Status status;
        MPI_Recv(got, sizeof got, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Send(&order, 1, MPI_INT, status.MPI_SOURCE, TAG_BLOCK, MPI_COMM_WORLD);
    }
}

/* ---- the others */

static void follow(setup *s, const block *b, int silent_after) {
    answer got[BLOCK + 1];
    int order, tag = TAG_ASK, i, blocks = 0;
    memset(got, 0, sizeof got);
    for (;;) {
        MPI_Send(got, sizeof got, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        MPI_Recv(&order, 1, MPI_INT, 0, TAG_BLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (order < 0) return;
        for (i = 0; i < b[order].count; ++i) {
            if (blocks == silent_after && i == b[order].count / 2) return; /* lost, with what it had */
            got[i] = run(s, b[order].first + i);
        }
        got[BLOCK].hash = (uint64_t)order;
        tag = TAG_ANSWER;
        ++blocks;
    }
}

/* ---- all together */

static void share_start(setup *s, int rank) {
    unsigned long long bytes;
    int i;
    if (rank == 0) {
        for (i = 0; i < 30; ++i) csim_world_step(s->world, CSIM_R(1) / 30);
        s->start = save(s->world, &s->bytes);
    }
    bytes = s->bytes;
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    s->bytes = (size_t)bytes;
    if (rank && (s->start = malloc(s->bytes)) == NULL) fail("memory");
    MPI_Bcast(s->start, (int)s->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* The best world, run once more by the last rank that answers and sent as bytes: rank 0 looks at what it gets. */
static void show_best(setup *s, int rank, int maker, const answer *all, int worlds) {
    int best = 0, i;
    unsigned long long bytes = 0;
    csim_pose pose;
    void *buffer = NULL;
    for (i = 1; rank == 0 && i < worlds; ++i)
        if (all[i].score > all[best].score) best = i;
    if (rank == 0 && maker != 0) MPI_Send(&best, 1, MPI_INT, maker, TAG_WORLD, MPI_COMM_WORLD);
    if (rank == maker) {
        size_t size;
        if (rank) MPI_Recv(&best, 1, MPI_INT, 0, TAG_WORLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        run(s, best);
        buffer = save(s->world, &size);
        bytes = size;
        if (rank) MPI_Send(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, TAG_WORLD, MPI_COMM_WORLD);
        if (rank) MPI_Send(buffer, (int)bytes, MPI_BYTE, 0, TAG_WORLD, MPI_COMM_WORLD);
        if (rank) free(buffer);
    }
    if (rank) return;
    if (maker) {
        MPI_Recv(&bytes, 1, MPI_UNSIGNED_LONG_LONG, maker, TAG_WORLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if ((buffer = malloc((size_t)bytes)) == NULL) fail("memory");
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, maker, TAG_WORLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (csim_world_restore(s->world, buffer, (size_t)bytes) != CSIM_OK) fail(csim_last_error(s->world));
    csim_body_get_pose(s->world, s->top, &pose);
    printf("best: world %d, top at %.3f m, %s\n", best, (double)pose.position.x,
           csim_world_hash(s->world) == all[best].hash ? "its bytes have its hash" : "ITS BYTES DIFFER");
    free(buffer);
}

static void total(const answer *all, int worlds, int again, int ranks) {
    uint64_t sum = 1469598103934665603u;
    int i;
    for (i = 0; i < worlds; ++i) sum = (sum ^ all[i].hash) * 1099511628211u;
    printf("%d worlds, hash %016llx\n", worlds, (unsigned long long)sum);
    printf("on %d ranks, %d worlds done again\n", ranks, again);
}

int main(int argc, char **argv) {
    int rank, ranks, worlds = 10000, lose = -1, i, blocks, again = 0;
    answer *all;
    block *b;
    setup s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--worlds") == 0) worlds = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--lose") == 0) lose = atoi(argv[i + 1]);
    }
    if (worlds < 1 || (lose >= 0 && (lose == 0 || lose >= ranks || ranks < 3)))
        fail("--worlds 1.., --lose a rank of 1..");
    memset(&s, 0, sizeof s);
    build(&s);
    share_start(&s, rank);
    blocks = (worlds + BLOCK - 1) / BLOCK;
    b = (block *)calloc((size_t)blocks, sizeof *b);
    all = (answer *)calloc((size_t)worlds, sizeof *all);
    if (!b || !all) fail("memory");
    for (i = 0; i < blocks; ++i) b[i].first = i * BLOCK, b[i].count = i < blocks - 1 ? BLOCK : worlds - i * BLOCK;
    if (ranks == 1)
        for (i = 0; i < worlds; ++i) all[i] = run(&s, i);
    else if (rank == 0)
        lead(b, blocks, all, &again), dismiss(ranks - 1 - (lose > 0));
    else
        follow(&s, b, rank == lose ? 1 : -1);
    if (rank == 0) total(all, worlds, again, ranks);
    show_best(&s, rank, ranks - 1 == lose ? ranks - 2 : ranks - 1, all, worlds);
    csim_destroy_world(s.world);
    free(s.start), free(b), free(all);
    MPI_Finalize();
    return 0;
}
