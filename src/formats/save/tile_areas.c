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
#include "base/words.h"
#include "formats/save/document_pages.h"

/* Those that were ever met. */
struct tfs_area_numbers {
    atomic_uint refs;
    pthread_mutex_t lock; /* of what follows */
    struct tfs_words keys;
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
    tfs_words_release(&numbers->keys);
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

bool tfs_doc_areas_find(const struct tfs_doc_areas *areas, struct tfs_key area, uint32_t *number)
{
    const struct tfs_area wanted = {.key = area};
    const struct tfs_area *found =
        areas->count == 0 ? NULL
                          : bsearch(&wanted, areas->items, areas->count, sizeof(wanted), compare);

    if (found != NULL)
        *number = found->number;
    return found != NULL;
}

/* ---- the areas of a document ----------------------------------------------------------------- */

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
    areas->count = tfs_array_unique(areas->items, areas->count, sizeof(*areas->items), compare);
    return true;
}

static bool give_numbers(struct tfs_area_numbers *numbers, struct tfs_doc_areas *areas)
{
    struct tfs_error err = {0};

    pthread_mutex_lock(&numbers->lock);
    for (size_t i = 0; i < areas->count && err.code == 0; i++) {
        struct tfs_area *area = &areas->items[i];
        tfs_words_add(&numbers->keys,
                      (struct tfs_span){(const uint8_t *)&area->key, sizeof(area->key)},
                      &area->number, &err);
        areas->end = area->number >= areas->end ? area->number + 1 : areas->end;
    }
    pthread_mutex_unlock(&numbers->lock);
    return err.code == 0;
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
        tfs_refs_add(&areas->refs);
    return areas;
}

void tfs_doc_areas_unref(struct tfs_doc_areas *areas)
{
    if (areas == NULL || !tfs_refs_drop(&areas->refs))
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
