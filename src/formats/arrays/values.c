/*
 * Decoded chunks, found by key and array: see values.h.
 */
#include "formats/arrays/values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/arrays/slabs.h"

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
    struct tfs_slabs slabs;
    pthread_mutex_t lock; /* of what follows; nothing is decoded under it */
    size_t bytes;
    size_t next;             /* the place that is emptied when there are too many bytes */
    uint64_t hashes[PLACES]; /* of keys: those of one chunk's places lie together */
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
    tfs_slabs_init(&made->slabs);
    if (atomic_compare_exchange_strong(&save->values, &none, made))
        return made;
    tfs_values_free(made);
    return none;
}

static uint64_t hash_of(const struct tfs_array *array, struct tfs_key key)
{
    uint64_t n = (uint64_t)key.group << 32 | (uint32_t)key.y;

    n = (n * 0x9e3779b97f4a7c15u ^ (uint32_t)key.z) * 0x9e3779b97f4a7c15u;
    n = (n ^ (uint32_t)key.x) * 0x9e3779b97f4a7c15u ^ (uintptr_t)array;
    return n * 0x9e3779b97f4a7c15u;
}

static size_t first_place(uint64_t hash)
{
    return (hash >> 32) % (PLACES / WAYS) * WAYS;
}

/* NULL: it has none. */
static struct place *find_place(struct tfs_values *values, const struct tfs_array *array,
                                struct tfs_key key)
{
    const uint64_t hash = hash_of(array, key);
    const size_t first = first_place(hash);

    for (size_t i = first; i < first + WAYS; i++) {
        struct place *p = &values->places[i];
        if (values->hashes[i] == hash && p->values != NULL && p->array == array &&
            tfs_key_compare(p->chunk.key, key) == 0)
            return p;
    }
    return NULL;
}

/* Its place; else an empty one, or one that is to be emptied. */
static struct place *place_of(struct tfs_values *values, const struct tfs_array *array,
                              struct tfs_key key)
{
    struct place *places = &values->places[first_place(hash_of(array, key))];
    struct place *found = find_place(values, array, key);

    for (unsigned i = 0; i < WAYS && found == NULL; i++)
        if (places[i].values == NULL)
            found = &places[i];
    return found != NULL ? found : &places[values->next % WAYS];
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
    const struct place *p = find_place(values, view->array, chunk->key);
    const bool found = p != NULL && p->kind == view->volume.kind &&
                       p->width == view->volume.width && p->size >= offset + size &&
                       tfs_chunk_is(&p->chunk, chunk);
    if (found && size > 0)
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
    values->hashes[p - values->places] = hash_of(view->array, chunk->key);
    tfs_blob_ref(p->chunk.blob);
    tfs_blob_ref(p->chunk.extra);
    values->bytes += size;
    pthread_mutex_unlock(&values->lock);
}

/* ---- layers of chunks ------------------------------------------------------------------------ */

int tfs_values_range(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_buf *out, struct tfs_error *err)
{
    struct tfs_values *values = values_of(view->save);

    return values == NULL ? tfs_volume_range(&view->volume, offset, size, out, err)
                          : tfs_slabs_range(&values->slabs, view, offset, size, out, err);
}

int tfs_values_share(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_blob **blob, struct tfs_error *err)
{
    struct tfs_values *values = values_of(view->save);

    *blob = NULL;
    return values == NULL ? 0 : tfs_slabs_share(&values->slabs, view, offset, size, blob, err);
}

void tfs_values_ahead(const struct tfs_array_view *view, uint64_t offset, uint64_t size)
{
    struct tfs_values *values = values_of(view->save);

    if (values != NULL)
        tfs_slabs_ahead(&values->slabs, view, offset, size);
}

void tfs_values_free(struct tfs_values *values)
{
    if (values == NULL)
        return;
    for (size_t i = 0; i < PLACES; i++)
        empty(values, &values->places[i]);
    tfs_slabs_release(&values->slabs);
    pthread_mutex_destroy(&values->lock);
    free(values);
}
