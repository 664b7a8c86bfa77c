/*
 * The LRU of rendered files: a map from id to entry and a doubly linked list by age.
 */
#include "fs/tree/cache.h"

#include <stdlib.h>

struct tfs_cache_entry {
    uint64_t id;
    uint64_t stamp;
    struct tfs_blob *blob;
    struct tfs_cache_entry *newer, *older;
};

void tfs_cache_init(struct tfs_cache *cache, size_t limit)
{
    *cache = (struct tfs_cache){.limit = limit};
}

static void unlink_entry(struct tfs_cache *cache, struct tfs_cache_entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct tfs_cache *cache, struct tfs_cache_entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

static void drop(struct tfs_cache *cache, struct tfs_cache_entry *entry)
{
    unlink_entry(cache, entry);
    tfs_map_remove(&cache->entries, entry->id);
    cache->bytes -= entry->blob->size;
    tfs_blob_unref(entry->blob);
    free(entry);
}

void tfs_cache_release(struct tfs_cache *cache)
{
    while (cache->oldest != NULL)
        drop(cache, cache->oldest);
    tfs_map_release(&cache->entries);
}

struct tfs_blob *tfs_cache_find(struct tfs_cache *cache, uint64_t id, uint64_t stamp)
{
    struct tfs_cache_entry *entry = tfs_map_find(&cache->entries, id);

    if (entry == NULL)
        return NULL;
    if (entry->stamp != stamp) {
        drop(cache, entry);
        return NULL;
    }
    if (entry != cache->newest) {
        unlink_entry(cache, entry);
        link_newest(cache, entry);
    }
    return tfs_blob_ref(entry->blob);
}

void tfs_cache_add(struct tfs_cache *cache, uint64_t id, uint64_t stamp, struct tfs_blob *blob)
{
    struct tfs_cache_entry *old = tfs_map_find(&cache->entries, id);

    if (old != NULL)
        drop(cache, old);
    struct tfs_cache_entry *entry = malloc(sizeof(*entry));
    if (entry == NULL)
        return;
    *entry = (struct tfs_cache_entry){.id = id, .stamp = stamp};
    if (tfs_map_set(&cache->entries, id, entry) < 0) {
        free(entry);
        return;
    }
    entry->blob = tfs_blob_ref(blob);
    cache->bytes += blob->size;
    link_newest(cache, entry);
    /* The newest stays even when it is above the limit: a picture is read in many pieces. */
    while (cache->bytes > cache->limit && cache->oldest != entry)
        drop(cache, cache->oldest);
}

void tfs_cache_drop(struct tfs_cache *cache, uint64_t id, uint64_t stamp)
{
    struct tfs_cache_entry *entry = tfs_map_find(&cache->entries, id);

    if (entry != NULL && entry->stamp == stamp)
        drop(cache, entry);
}
