/*
 * Objects in the order in which they were asked for.
 *
 * Must not know what they are.
 */
#include "base/recent.h"

#include <string.h>

void tfs_recent_init(struct tfs_recent *recent, const struct tfs_recent_kind *kind, size_t limit)
{
    *recent = (struct tfs_recent){.kind = kind, .limit = limit};
    pthread_mutex_init(&recent->lock, NULL);
}

void tfs_recent_release(struct tfs_recent *recent)
{
    tfs_recent_clear(recent);
    pthread_mutex_destroy(&recent->lock);
}

/* Puts the object before the first `at` ones. */
static void put_first(struct tfs_recent *recent, void *object, unsigned at)
{
    memmove(&recent->objects[1], &recent->objects[0], at * sizeof(recent->objects[0]));
    recent->objects[0] = object;
}

void *tfs_recent_find(struct tfs_recent *recent, const void *wanted)
{
    void *found = NULL;

    pthread_mutex_lock(&recent->lock);
    for (unsigned i = 0; i < recent->count && found == NULL; i++) {
        if (!recent->kind->is(recent->objects[i], wanted))
            continue;
        found = recent->objects[i];
        put_first(recent, found, i);
        recent->kind->ref(found);
    }
    pthread_mutex_unlock(&recent->lock);
    return found;
}

/* Lets go of all but the first `count`. */
static void cut(struct tfs_recent *recent, unsigned count)
{
    while (recent->count > count)
        recent->kind->unref(recent->objects[--recent->count]);
}

void tfs_recent_add(struct tfs_recent *recent, void *object)
{
    size_t bytes = recent->kind->weight(object);
    unsigned keep = 0;

    pthread_mutex_lock(&recent->lock);
    while (keep < recent->count && keep + 1 < TFS_RECENT_MAX) {
        const size_t weight = recent->kind->weight(recent->objects[keep]);
        if (bytes > recent->limit || weight > recent->limit - bytes)
            break;
        bytes += weight;
        keep++;
    }
    cut(recent, keep);
    put_first(recent, object, recent->count++);
    recent->kind->ref(object);
    pthread_mutex_unlock(&recent->lock);
}

void tfs_recent_clear(struct tfs_recent *recent)
{
    pthread_mutex_lock(&recent->lock);
    cut(recent, 0);
    pthread_mutex_unlock(&recent->lock);
}
