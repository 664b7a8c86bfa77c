/*
 * The keys of a document -> the areas that they lie in, each with its number.
 *
 * Must not know what areas are for. Numbers are given in the order in which areas are met first,
 * and never again to another one; all documents of a save take them from one list, which has a
 * lock of its own, because any thread may be the first to ask.
 */
#include "formats/save/tile_areas.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/refs.h"
#include "formats/save/document_pages.h"

/* Those that were ever met. */
struct tfs_area_numbers {
    atomic_uint refs;
    pthread_mutex_t lock;   /* of what follows */
    struct tfs_area *items; /* by key */
    size_t count;
};

struct tfs_area_numbers *tfs_area_numbers_create(void)
{
    struct tfs_area_numbers *numbers = calloc(1, sizeof(*numbers));

    if (numbers == NULL)
        return NULL;
    atomic_init(&numbers->refs, 1);
    pthread_mutex_init(&numbers->lock, NULL);
    return numbers;
}

struct tfs_area_numbers *tfs_area_numbers_ref(struct tfs_area_numbers *numbers)
{
    tfs_refs_add(&numbers->refs);
    return numbers;
}

void tfs_area_numbers_unref(struct tfs_area_numbers *numbers)
{
    if (numbers == NULL || !tfs_refs_drop(&numbers->refs))
        return;
    pthread_mutex_destroy(&numbers->lock);
    free(numbers->items);
    free(numbers);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int32_t floor_div(int32_t at, int32_t by)
{
    return at / by - (at % by < 0);
}

struct tfs_key tfs_area_of(struct tfs_key chunk, int32_t x, int32_t z)
{
    return (struct tfs_key){0, floor_div(chunk.x, x), 0, floor_div(chunk.z, z)};
}

static int compare(const void *a, const void *b)
{
    return tfs_key_compare(((const struct tfs_area *)a)->key, ((const struct tfs_area *)b)->key);
}

/* The first that is not below the key. */
static size_t locate(const struct tfs_area *items, size_t count, struct tfs_key key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tfs_key_compare(items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tfs_doc_areas_find(const struct tfs_doc_areas *areas, struct tfs_key area, uint32_t *number)
{
    const size_t at = locate(areas->items, areas->count, area);

    if (at == areas->count || tfs_key_compare(areas->items[at].key, area) != 0)
        return false;
    *number = areas->items[at].number;
    return true;
}

/* ---- the areas of a document ----------------------------------------------------------------- */

/* Sorted, each once. */
static void settle(struct tfs_doc_areas *areas)
{
    size_t count = 0;

    if (areas->count > 0)
        qsort(areas->items, areas->count, sizeof(*areas->items), compare);
    for (size_t i = 0; i < areas->count; i++)
        if (count == 0 || compare(&areas->items[count - 1], &areas->items[i]) != 0)
            areas->items[count++] = areas->items[i];
    areas->count = count;
}

struct gathering {
    struct tfs_doc_areas *areas;
    int32_t x, z;
    int64_t low_x, low_z; /* where the last area begins */
};

/* Chunks that follow one another mostly lie in one area: nothing is divided for these. */
static int add_area(void *arg, const struct tfs_chunk *chunk)
{
    struct gathering *g = arg;
    struct tfs_doc_areas *areas = g->areas;

    if (areas->count > 0 && (uint64_t)(chunk->key.x - g->low_x) < (uint64_t)g->x &&
        (uint64_t)(chunk->key.z - g->low_z) < (uint64_t)g->z)
        return 0;
    const struct tfs_key area = tfs_area_of(chunk->key, g->x, g->z);
    g->low_x = (int64_t)area.x * g->x;
    g->low_z = (int64_t)area.z * g->z;
    struct tfs_area *items = tfs_array_grow(areas->items, areas->count, sizeof(*items));
    if (items == NULL)
        return -ENOMEM;
    areas->items = items;
    items[areas->count++] = (struct tfs_area){.key = area};
    return 0;
}

/* mkdir of a chunk looks at each chunk of the save here. */
static bool gather(const struct tfs_doc *doc, int32_t x, int32_t z, struct tfs_doc_areas *areas)
{
    struct gathering g = {.areas = areas, .x = x, .z = z};

    if (tfs_doc_walk(doc, 0, add_area, &g) < 0)
        return false;
    settle(areas);
    return true;
}

/* The caller holds the lock. */
static bool give_number(struct tfs_area_numbers *numbers, struct tfs_area *area)
{
    const size_t at = locate(numbers->items, numbers->count, area->key);

    if (at == numbers->count || compare(&numbers->items[at], area) != 0) {
        struct tfs_area *items = tfs_array_grow(numbers->items, numbers->count, sizeof(*items));
        if (items == NULL)
            return false;
        for (size_t i = numbers->count; i > at; i--)
            items[i] = items[i - 1];
        items[at] = (struct tfs_area){area->key, (uint32_t)numbers->count};
        numbers->items = items;
        numbers->count++;
    }
    area->number = numbers->items[at].number;
    return true;
}

static bool give_numbers(struct tfs_area_numbers *numbers, struct tfs_doc_areas *areas)
{
    bool given = true;

    pthread_mutex_lock(&numbers->lock);
    for (size_t i = 0; i < areas->count && given; i++) {
        given = give_number(numbers, &areas->items[i]);
        if (areas->items[i].number >= areas->end)
            areas->end = areas->items[i].number + 1;
    }
    pthread_mutex_unlock(&numbers->lock);
    return given;
}

static bool list_by_number(struct tfs_doc_areas *areas)
{
    areas->keys = calloc((size_t)areas->end + 1, sizeof(*areas->keys));
    if (areas->keys == NULL)
        return false;
    for (uint32_t i = 0; i < areas->end; i++)
        areas->keys[i].group = UINT32_MAX;
    for (size_t i = 0; i < areas->count; i++)
        areas->keys[areas->items[i].number] = areas->items[i].key;
    return true;
}

struct tfs_doc_areas *tfs_doc_areas_ref(struct tfs_doc_areas *areas)
{
    if (areas != NULL)
        atomic_fetch_add_explicit(&areas->refs, 1, memory_order_relaxed);
    return areas;
}

void tfs_doc_areas_unref(struct tfs_doc_areas *areas)
{
    if (areas == NULL || atomic_fetch_sub_explicit(&areas->refs, 1, memory_order_acq_rel) > 1)
        return;
    free(areas->items);
    free(areas->keys);
    free(areas);
}

static struct tfs_doc_areas *find_areas(const struct tfs_doc *doc, int32_t x, int32_t z)
{
    struct tfs_doc_areas *areas = calloc(1, sizeof(*areas));

    if (areas != NULL)
        atomic_init(&areas->refs, 1);
    if (areas != NULL && gather(doc, x, z, areas) && give_numbers(doc->area_numbers, areas) &&
        list_by_number(areas))
        return areas;
    tfs_doc_areas_unref(areas);
    return NULL;
}

const struct tfs_doc_areas *tfs_doc_areas(const struct tfs_doc *doc, int32_t x, int32_t z)
{
    struct tfs_doc_areas *areas = atomic_load(&doc->areas), *there = NULL;

    if (areas != NULL)
        return areas;
    areas = find_areas(doc, x, z);
    if (areas == NULL ||
        atomic_compare_exchange_strong(&((struct tfs_doc *)doc)->areas, &there, areas))
        return areas;
    tfs_doc_areas_unref(areas);
    return there;
}
