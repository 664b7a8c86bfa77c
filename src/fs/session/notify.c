/*
 * Stale ids -> the front end's caches, then answers: see notify.h.
 */
#include "fs/session/notify.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

/* Ids that differ in their low bits only: those of the files of a chunk lie together. */
struct run {
    uint64_t high, low; /* of all of them; a bit for each */
};

#define RUN_BITS 6

struct ids {
    struct run *runs;
    size_t count;
};

/* What is stale, and what waits for it to be told. */
struct package {
    struct package *next;
    struct ids stale;
    void (*then)(void *arg);
    void *arg;
};

struct tfs_notify {
    void (*invalidate)(void *arg, uint64_t id);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    struct ids stale;
    struct package *queue, **queue_end;
    unsigned under_way; /* packages queued or being told */
    bool stop, stopped;
};

void tfs_notify_stale(struct tfs_notify *notify, uint64_t id)
{
    const struct run run = {id >> RUN_BITS, UINT64_C(1) << (id & 63)};
    struct ids *stale = &notify->stale;

    if (notify->invalidate == NULL || notify->stopped)
        return;
    pthread_mutex_lock(&notify->lock);
    struct run *last = stale->count > 0 ? &stale->runs[stale->count - 1] : NULL;
    const bool beside = last != NULL && last->high == run.high;
    struct run *more = beside ? NULL : tfs_array_grow(stale->runs, stale->count, sizeof(*more));
    if (beside)
        last->low |= run.low;
    /* Without memory a cache stays stale until its next open: no data is at stake. */
    if (more != NULL) {
        stale->runs = more;
        stale->runs[stale->count++] = run;
    }
    pthread_mutex_unlock(&notify->lock);
}

static int compare_runs(const void *a, const void *b)
{
    const uint64_t x = ((const struct run *)a)->high, y = ((const struct run *)b)->high;

    return (x > y) - (x < y);
}

static void tell_run(struct tfs_notify *notify, struct run run)
{
    for (; run.low != 0; run.low &= run.low - 1)
        notify->invalidate(notify->arg, run.high << RUN_BITS | (uint64_t)__builtin_ctzll(run.low));
}

static void tell(struct tfs_notify *notify, const struct package *package)
{
    const struct ids *stale = &package->stale;

    if (stale->count > 1)
        qsort(stale->runs, stale->count, sizeof(*stale->runs), compare_runs);
    for (size_t i = 0; i < stale->count; i++) {
        if (i + 1 < stale->count && stale->runs[i].high == stale->runs[i + 1].high)
            stale->runs[i + 1].low |= stale->runs[i].low;
        else
            tell_run(notify, stale->runs[i]);
    }
    free(stale->runs);
    if (package->then != NULL)
        package->then(package->arg);
}

void tfs_notify_then(struct tfs_notify *notify, void (*then)(void *arg), void *arg)
{
    pthread_mutex_lock(&notify->lock);
    struct package now = {.stale = notify->stale, .then = then, .arg = arg};
    /* With nothing to wait for there is no need to change threads, but for the order. */
    bool direct = now.stale.count == 0 && notify->under_way == 0;
    struct package *later = direct ? NULL : malloc(sizeof(*later));
    if (later != NULL) {
        *later = now;
        *notify->queue_end = later;
        notify->queue_end = &later->next;
        notify->under_way++;
        pthread_cond_signal(&notify->work);
    }
    /* Without memory, and without an answer that waits, the next one tells it. */
    bool here = later == NULL && then != NULL;
    if (here || later != NULL)
        notify->stale = (struct ids){0};
    pthread_mutex_unlock(&notify->lock);
    if (here)
        tell(notify, &now);
}

static void *run(void *arg)
{
    struct tfs_notify *notify = arg;

    pthread_mutex_lock(&notify->lock);
    for (;;) {
        while (notify->queue == NULL && !notify->stop)
            pthread_cond_wait(&notify->work, &notify->lock);
        struct package *package = notify->queue;
        if (package == NULL)
            break;
        notify->queue = package->next;
        if (notify->queue == NULL)
            notify->queue_end = &notify->queue;
        pthread_mutex_unlock(&notify->lock);
        tell(notify, package);
        free(package);
        pthread_mutex_lock(&notify->lock);
        notify->under_way--;
    }
    pthread_mutex_unlock(&notify->lock);
    return NULL;
}

int tfs_notify_open(void (*invalidate)(void *arg, uint64_t id), void *arg, struct tfs_notify **out)
{
    struct tfs_notify *notify = calloc(1, sizeof(*notify));

    if (notify == NULL)
        return -1;
    notify->invalidate = invalidate;
    notify->arg = arg;
    notify->queue_end = &notify->queue;
    pthread_mutex_init(&notify->lock, NULL);
    pthread_cond_init(&notify->work, NULL);
    if (pthread_create(&notify->thread, NULL, run, notify) != 0) {
        pthread_cond_destroy(&notify->work);
        pthread_mutex_destroy(&notify->lock);
        free(notify);
        return -1;
    }
    *out = notify;
    return 0;
}

void tfs_notify_stop(struct tfs_notify *notify)
{
    if (notify == NULL || notify->stopped)
        return;
    pthread_mutex_lock(&notify->lock);
    notify->stop = true;
    pthread_cond_signal(&notify->work);
    pthread_mutex_unlock(&notify->lock);
    pthread_join(notify->thread, NULL);
    notify->stopped = true;
    free(notify->stale.runs);
    notify->stale = (struct ids){0};
}

void tfs_notify_close(struct tfs_notify *notify)
{
    if (notify == NULL)
        return;
    tfs_notify_stop(notify);
    pthread_cond_destroy(&notify->work);
    pthread_mutex_destroy(&notify->lock);
    free(notify);
}
