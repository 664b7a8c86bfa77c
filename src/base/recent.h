/*
 * The objects that were asked for last: what takes time to make and can be made again. Bounded by
 * their number and their weights, which are bytes mostly; the one that nobody asked for the longest
 * time goes first.
 *
 * Objects are reference-counted. Thread-safe, and calls nothing but the kind's functions under its
 * lock.
 */
#ifndef TFS_BASE_RECENT_H
#define TFS_BASE_RECENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct tfs_recent_kind {
    bool (*is)(const void *object, const void *wanted); /* is it the one that somebody wants? */
    size_t (*weight)(const void *object);               /* bytes, or 1; it never changes */
    void (*ref)(void *object);
    void (*unref)(void *object);
};

#define TFS_RECENT_MAX 64

struct tfs_recent {
    const struct tfs_recent_kind *kind;
    size_t limit; /* of all weights */
    pthread_mutex_t lock;
    void *objects[TFS_RECENT_MAX]; /* the first was asked for last */
    unsigned count;
    size_t weight; /* of all */
};

void tfs_recent_init(struct tfs_recent *recent, const struct tfs_recent_kind *kind, size_t limit);
void tfs_recent_release(struct tfs_recent *recent);

/* A reference to the object that is wanted; NULL: it is not kept. */
void *tfs_recent_find(struct tfs_recent *recent, const void *wanted);
/* Keeps the object (takes a reference), and as many others as there is room for beside it. */
void tfs_recent_add(struct tfs_recent *recent, void *object);
/* Does not keep the object that is wanted any more. */
void tfs_recent_drop(struct tfs_recent *recent, const void *wanted);
/* Keeps none. */
void tfs_recent_clear(struct tfs_recent *recent);

#endif
