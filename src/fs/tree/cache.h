/*
 * Rendered files, bounded: least recently used go first. Keyed by node id and content stamp, so an
 * entry that went stale is never found and ages out. Not thread-safe: the lock of the views that
 * own it (views.h) guards it.
 */
#ifndef TFS_FS_TREE_CACHE_H
#define TFS_FS_TREE_CACHE_H

#include "base/blob.h"
#include "base/map.h"

struct tfs_cache_entry;

struct tfs_cache {
    struct tfs_map entries;
    struct tfs_cache_entry *newest, *oldest;
    size_t bytes;
    size_t limit;
};

void tfs_cache_init(struct tfs_cache *cache, size_t limit);
void tfs_cache_release(struct tfs_cache *cache);

/* A reference to the rendered bytes, or NULL. */
struct tfs_blob *tfs_cache_find(struct tfs_cache *cache, uint64_t id, uint64_t stamp);
/* Remembers (takes a reference); without memory it does not. The newest entry stays whatever its
 * size. */
void tfs_cache_add(struct tfs_cache *cache, uint64_t id, uint64_t stamp, struct tfs_blob *blob);
/* Forgets them, if they are of that stamp. */
void tfs_cache_drop(struct tfs_cache *cache, uint64_t id, uint64_t stamp);

#endif
