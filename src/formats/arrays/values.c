/*
 * Decoded chunks, found by key and array: see values.h.
 */
#include "formats/arrays/values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8192u
#define WAYS   8u /* places that a chunk may have */
#define BYTES  ((size_t)32 << 20)

struct place {
    struct tfs_chunk chunk; /* with references */
    const struct tfs_array *array;
    char kind;
    unsigned width;
    uint8_t *values;
    size_t size;
};

struct tfs_values {
    pthread_mutex_t lock;
    size_t bytes;
    size_t next; /* the place that is emptied when there are too many bytes */
    struct place places[PLACES];
};

static struct tfs_values *values_of(struct tfs_save *save)
{
    struct tfs_values *found = atomic_load(&save->values), *none = NULL;

    if (found != NULL)
        return found;
    struct tfs_values *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(&save->values, &none, made))
        return made;
    tfs_values_free(made);
    return none;
}

/* The first of the places that it may have. */
static struct place *places_of(struct tfs_values *values, const struct tfs_array *array,
                               struct tfs_key key)
{
    uint64_t n = (uint32_t)key.y;

    n = (n * 0x9e3779b97f4a7c15u ^ (uint32_t)key.z) * 0x9e3779b97f4a7c15u;
    n = (n ^ (uint32_t)key.x) * 0x9e3779b97f4a7c15u ^ (uintptr_t)array;
    n *= 0x9e3779b97f4a7c15u;
    return &values->places[(n >> 32) % (PLACES / WAYS) * WAYS];
}

/* Its place; else an empty one, or one that is to be emptied. */
static struct place *place_of(struct tfs_values *values, const struct tfs_array *array,
                              struct tfs_key key)
{
    struct place *places = places_of(values, array, key);
    struct place *other = &places[values->next % WAYS];

    for (unsigned i = 0; i < WAYS; i++) {
        if (places[i].values == NULL)
            other = &places[i];
        else if (places[i].array == array && tfs_key_compare(places[i].chunk.key, key) == 0)
            return &places[i];
    }
    return other;
}

static void empty(struct tfs_values *values, struct place *place)
{
    values->bytes -= place->size;
    tfs_blob_unref(place->chunk.blob);
    tfs_blob_unref(place->chunk.extra);
    free(place->values);
    *place = (struct place){0};
}

bool tfs_values_find(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                     size_t offset, size_t size, uint8_t *out)
{
    struct tfs_values *values = values_of(view->save);

    if (values == NULL)
        return false;
    pthread_mutex_lock(&values->lock);
    const struct place *p = place_of(values, view->array, chunk->key);
    const bool found = p->values != NULL && p->array == view->array &&
                       p->kind == view->volume.kind && p->width == view->volume.width &&
                       p->size >= offset + size && tfs_chunk_is(&p->chunk, chunk);
    if (found)
        memcpy(out, p->values + offset, size);
    pthread_mutex_unlock(&values->lock);
    return found;
}

void tfs_values_add(const struct tfs_array_view *view, const struct tfs_chunk *chunk,
                    const uint8_t *bytes, size_t size)
{
    struct tfs_values *values = values_of(view->save);
    uint8_t *copy = values != NULL && size <= BYTES ? malloc(size) : NULL;

    if (copy == NULL)
        return;
    memcpy(copy, bytes, size);
    pthread_mutex_lock(&values->lock);
    struct place *p = place_of(values, view->array, chunk->key);
    empty(values, p);
    for (; values->bytes + size > BYTES; values->next = (values->next + 1) % PLACES)
        empty(values, &values->places[values->next]);
    *p = (struct place){*chunk, view->array, view->volume.kind, view->volume.width, copy, size};
    tfs_blob_ref(p->chunk.blob);
    tfs_blob_ref(p->chunk.extra);
    values->bytes += size;
    pthread_mutex_unlock(&values->lock);
}

void tfs_values_free(struct tfs_values *values)
{
    if (values == NULL)
        return;
    for (size_t i = 0; i < PLACES; i++)
        empty(values, &values->places[i]);
    pthread_mutex_destroy(&values->lock);
    free(values);
}
