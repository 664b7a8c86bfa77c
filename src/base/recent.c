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

static void drop_last(struct tfs_recent *recent)
{
    void *last = recent->objects[--recent->count];

    recent->weight -= recent->kind->weight(last);
    recent->kind->unref(last);
}

static bool has_room(const struct tfs_recent *recent, size_t weight)
{
    return recent->count < TFS_RECENT_MAX && weight <= recent->limit &&
           recent->weight <= recent->limit - weight;
}

void tfs_recent_add(struct tfs_recent *recent, void *object)
{
    const size_t weight = recent->kind->weight(object);

    pthread_mutex_lock(&recent->lock);
    while (recent->count > 0 && !has_room(recent, weight))
        drop_last(recent);
    recent->weight += weight;
    put_first(recent, object, recent->count++);
    recent->kind->ref(object);
    pthread_mutex_unlock(&recent->lock);
}

void tfs_recent_drop(struct tfs_recent *recent, const void *wanted)
{
    unsigned left = 0;

    pthread_mutex_lock(&recent->lock);
    for (unsigned i = 0; i < recent->count; i++) {
        void *object = recent->objects[i];
        if (recent->kind->is(object, wanted)) {
            recent->weight -= recent->kind->weight(object);
            recent->kind->unref(object);
        } else {
            recent->objects[left++] = object;
        }
    }
    recent->count = left;
    pthread_mutex_unlock(&recent->lock);
}

void tfs_recent_clear(struct tfs_recent *recent)
{
    pthread_mutex_lock(&recent->lock);
    while (recent->count > 0)
        drop_last(recent);
    pthread_mutex_unlock(&recent->lock);
}
