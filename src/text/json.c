/*
 * A text -> values of Jansson, in memory that was there before.
 */
#include "text/json.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* An object of nothing, "{},", is the most that few bytes ask for: 80 of each. Of nested arrays it
 * is 112, until they are too deep. What is given is aligned, and none of it is given back alone. */
#define ARENA_BYTE  160
#define ARENA_FLOOR ((size_t)16 << 10)
#define ARENA_ALIGN 16

static _Thread_local struct arena {
    uint8_t *begin;
    size_t used, size;
} arena;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *arena_malloc(size_t size)
{
    size_t rounded = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;

    if (rounded < size || rounded > arena.size - arena.used)
        return malloc(size);
    arena.used += rounded;
    return arena.begin + arena.used - rounded;
}

static void arena_free(void *memory)
{
    if ((uintptr_t)memory - (uintptr_t)arena.begin >= arena.size)
        free(memory);
}

static void use_arena(void)
{
    json_set_alloc_funcs(arena_malloc, arena_free);
}

int tfs_json_open(struct tfs_span text, size_t flags, struct tfs_json *json)
{
    pthread_once(&once, use_arena);
    arena = (struct arena){.size = text.size * ARENA_BYTE + ARENA_FLOOR};
    arena.begin = malloc(arena.size);
    if (arena.begin == NULL)
        return -ENOMEM;
    json->root = json_loadb((const char *)text.data, text.size, flags, &json->why);
    return 0;
}

void tfs_json_close(struct tfs_json *json)
{
    json_decref(json->root);
    free(arena.begin);
    arena = (struct arena){0};
}
