#define _POSIX_C_SOURCE 200112L
#include "threads.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <stdlib.h>

/* A step runs hundreds of short loops, and a thread that sleeps is woken late: it looks for the next loop for as long
   as waking would take, some ten microseconds, before it goes to sleep. */
enum { THREADS_LOOKS = 2000 };

struct threads {
    pthread_t *thread;
    int thread_count;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    csim_range_fn *fn;
    void *context;
    int count, grain, next; /* of the loop that runs */
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

/* Takes ranges until there are none. Holds the lock before and after. */
static void threads_take(threads *t) {
    while (t->fn && t->next < t->count) {
        int begin = t->next, end = t->count - begin < t->grain ? t->count : begin + t->grain;
        t->next = end;
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
    threads *t = (threads *)user;
    pthread_mutex_lock(&t->lock);
    while (!t->stop) {
        threads_take(t);
        if (!t->stop && !(t->fn && t->next < t->count)) threads_wait(t, &t->work);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void threads_run(void *user, int count, int grain, csim_range_fn *fn, void *context) {
    threads *t = (threads *)user;
    pthread_mutex_lock(&t->lock);
    t->fn = fn;
    t->context = context;
    t->count = count;
    t->grain = grain > 0 ? grain : 1;
    t->next = 0;
    threads_turn(t);
    pthread_cond_broadcast(&t->work);
    threads_take(t);
    while (t->busy > 0) threads_wait(t, &t->done);
    t->fn = NULL;
    pthread_mutex_unlock(&t->lock);
}

threads *threads_open(int count) {
    threads *t = (threads *)calloc(1, sizeof *t);
    if (!t) return NULL;
    t->thread = (pthread_t *)calloc((size_t)(count > 1 ? count : 1), sizeof *t->thread);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, NULL);
    pthread_cond_init(&t->done, NULL);
    while (t->thread && t->thread_count + 1 < count) {
        if (pthread_create(t->thread + t->thread_count, NULL, threads_main, t) != 0) break;
        t->thread_count++;
    }
    if (t->thread && t->thread_count + 1 == count) return t;
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
