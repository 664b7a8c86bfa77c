/*
 * Open addressing with linear probing; removal shifts the cells behind it back, so there are no
 * tombstones and a map that empties costs what an empty one costs.
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16

static size_t home(uint64_t key, size_t capacity)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key >> 20) & (capacity - 1);
}

void tfs_map_release(struct tfs_map *map)
{
    free(map->cells);
    *map = (struct tfs_map){0};
}

/* The cell of the key, or the free one where it would go; the map has a free cell. */
static struct tfs_map_cell *probe(const struct tfs_map *map, uint64_t key)
{
    size_t i = home(key, map->capacity);

    while (map->cells[i].key != 0 && map->cells[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->cells[i];
}

void *tfs_map_find(const struct tfs_map *map, uint64_t key)
{
    return map->count == 0 ? NULL : probe(map, key)->value;
}

static int grow(struct tfs_map *map)
{
    struct tfs_map bigger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY};

    bigger.cells = calloc(bigger.capacity, sizeof(*bigger.cells));
    if (bigger.cells == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->cells[i].key != 0)
            *probe(&bigger, map->cells[i].key) = map->cells[i];
    }
    bigger.count = map->count;
    free(map->cells);
    *map = bigger;
    return 0;
}

static int reserve(struct tfs_map *map)
{
    /* At most three quarters full, so that a probe always ends. */
    return map->count * 4 >= map->capacity * 3 ? grow(map) : 0;
}

int tfs_map_set(struct tfs_map *map, uint64_t key, void *value)
{
    if (reserve(map) < 0)
        return -ENOMEM;
    struct tfs_map_cell *cell = probe(map, key);
    if (cell->key == 0)
        map->count++;
    *cell = (struct tfs_map_cell){key, value};
    return 0;
}

void *tfs_map_remove(struct tfs_map *map, uint64_t key)
{
    if (map->count == 0)
        return NULL;
    struct tfs_map_cell *cell = probe(map, key);
    if (cell->key == 0)
        return NULL;
    void *value = cell->value;
    size_t mask = map->capacity - 1;
    size_t hole = (size_t)(cell - map->cells);
    for (size_t i = (hole + 1) & mask; map->cells[i].key != 0; i = (i + 1) & mask) {
        /* A cell may fill the hole unless its home lies behind the hole. */
        if (((i - home(map->cells[i].key, map->capacity)) & mask) >= ((i - hole) & mask)) {
            map->cells[hole] = map->cells[i];
            hole = i;
        }
    }
    map->cells[hole] = (struct tfs_map_cell){0};
    map->count--;
    return value;
}

bool tfs_map_next(const struct tfs_map *map, size_t *at, struct tfs_map_cell *cell)
{
    while (*at < map->capacity) {
        const struct tfs_map_cell *c = &map->cells[(*at)++];
        if (c->key != 0) {
            *cell = *c;
            return true;
        }
    }
    return false;
}
