#define _POSIX_C_SOURCE 200112L
#include "threads.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <stdlib.h>

/* A step runs hundreds of short loops, and a thread that sleeps is woken late: it looks for the next loop for as long
   as waking would take, some ten microseconds, before it goes to sleep. */
enum { THREADS_LOOKS = 2000 };

/* What a thread begins with, ranges [next, end): the same share of every loop, whose data it may have from the loop
   before; who has done with its own takes from the others. */
typedef struct thread_share {
    int next, end;
} thread_share;

typedef struct thread_start {
    struct threads *threads;
    int self;
} thread_start;

struct threads {
    pthread_t *thread;
    thread_start *start;
    thread_share *share; /* [shares], the last is of who runs the loop */
    int thread_count, shares;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    csim_range_fn *fn;
    void *context;
    int count, grain;       /* of the loop that runs */
    int busy;               /* ranges that are being worked on */
    unsigned turn;          /* changes with every loop, and where the last range of one is done */
    bool stop;
};

/* Waits a little for the turn to be another one; without the lock. */
static void threads_look(const threads *t, unsigned turn) {
#if defined(__GNUC__) && !defined(__TINYC__)
    int k;
    for (k = 0; k < THREADS_LOOKS && __atomic_load_n(&t->turn, __ATOMIC_RELAXED) == turn; k++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
#else
    (void)t, (void)turn;
#endif
}

/* These two hold the lock before and after. */
static void threads_turn(threads *t) {
#if defined(__GNUC__) && !defined(__TINYC__)
    __atomic_store_n(&t->turn, t->turn + 1, __ATOMIC_RELAXED);
#else
    t->turn++;
#endif
}

static void threads_wait(threads *t, pthread_cond_t *news) {
    const unsigned turn = t->turn;
    pthread_mutex_unlock(&t->lock);
    threads_look(t, turn);
    pthread_mutex_lock(&t->lock);
    if (t->turn == turn) pthread_cond_wait(news, &t->lock);
}

/* The next range for a thread, -1: there is none. */
static int threads_next(threads *t, int self) {
    int k;
    for (k = 0; t->fn && k < t->shares; k++) {
        thread_share *share = t->share + (self + k) % t->shares;
        if (share->next < share->end) return share->next++;
    }
    return -1;
}

/* Takes ranges until there are none. Holds the lock before and after. */
static void threads_take(threads *t, int self) {
    int range;
    while ((range = threads_next(t, self)) >= 0) {
        const int begin = range * t->grain, end = t->count - begin < t->grain ? t->count : begin + t->grain;
        t->busy++;
        pthread_mutex_unlock(&t->lock);
        t->fn(t->context, begin, end);
        pthread_mutex_lock(&t->lock);
        t->busy--;
    }
    if (t->busy > 0) return;
    threads_turn(t);
    pthread_cond_signal(&t->done);
}

static void *threads_main(void *user) {
    const thread_start *start = (const thread_start *)user;
    threads *t = start->threads;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        threads_take(t, start->self);
        if (!t->stop) threads_wait(t, &t->work);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void threads_run(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    threads *t = (threads *)user;
    int k, ranges;
    if (count <= 0) return;
    pthread_mutex_lock(&t->lock);
    t->fn = fn;
    t->context = context;
    t->count = count;
    t->grain = grain > 0 ? grain : 1;
    ranges = (count - 1) / t->grain + 1;
    for (k = 0; k < t->shares; k++) {
        t->share[k].next = (int)((long long)ranges * k / t->shares);
        t->share[k].end = (int)((long long)ranges * (k + 1) / t->shares);
    }
    threads_turn(t);
    pthread_cond_broadcast(&t->work);
    threads_take(t, t->shares - 1);
    while (t->busy > 0) threads_wait(t, &t->done);
    t->fn = NULL;
    pthread_mutex_unlock(&t->lock);
}

threads *threads_open(int count) {
    threads *t = (threads *)calloc(1, sizeof *t);
    if (!t) return NULL;
    t->shares = count = count > 1 ? count : 1;
    t->thread = (pthread_t *)calloc((size_t)count, sizeof *t->thread);
    t->start = (thread_start *)calloc((size_t)count, sizeof *t->start);
    t->share = (thread_share *)calloc((size_t)count, sizeof *t->share);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, NULL);
    while (t->thread && t->start && t->share && t->thread_count + 1 < count) {
        thread_start *start = t->start + t->thread_count;
        start->threads = t;
        start->self = t->thread_count;
        if (pthread_create(t->thread + t->thread_count, NULL, threads_main, start) != 0) break;
        t->thread_count++;
    }
    if (t->thread && t->start && t->share && t->thread_count + 1 == count) return t;
    threads_close(t);
    return NULL;
}

void threads_close(threads *t) {
    int i;
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
    for (i = 0; i < t->thread_count; i++) pthread_join(t->thread[i], NULL);
    pthread_cond_destroy(&t->done);
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    free(t->thread);
    free(t->start);
    free(t->share);
    free(t);
}

csim_tasks threads_tasks(threads *t) {
    csim_tasks tasks;
    tasks.run = t ? threads_run : NULL;
    tasks.user = t;
    return tasks;
}
#else
threads *threads_open(int count) {
    (void)count;
    return NULL;
}
void threads_close(threads *t) { (void)t; }
csim_tasks threads_tasks(threads *t) {
    csim_tasks tasks;
    tasks.run = NULL;
    tasks.user = t;
    return tasks;
}
#endif
