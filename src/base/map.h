/*
 * A hash map from a non-zero 64-bit key to a pointer. Zero-initialised = empty. Values are the
 * owner's.
 */
#ifndef TFS_BASE_MAP_H
#define TFS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tfs_map_cell {
    uint64_t key; /* 0: free */
    void *value;
};

struct tfs_map {
    struct tfs_map_cell *cells;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

void tfs_map_release(struct tfs_map *map);                   /* frees the cells, not the values */
void *tfs_map_find(const struct tfs_map *map, uint64_t key); /* NULL: absent */
int tfs_map_set(struct tfs_map *map, uint64_t key, void *value); /* 0 or -ENOMEM, map as it was */
void *tfs_map_remove(struct tfs_map *map, uint64_t key); /* the value that was there, or NULL */

/* Walks all entries in no particular order: start with *at = 0; false at the end. The map must not
 * change during the walk, with two exceptions: the value just given may be freed when nothing is
 * looked up afterwards, and the entry just given may be removed, when (*at)-- follows at once; the
 * walk may then give an entry twice. */
bool tfs_map_next(const struct tfs_map *map, size_t *at, struct tfs_map_cell *cell);

#endif
