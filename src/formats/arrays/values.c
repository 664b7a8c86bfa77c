/*
 * Decoded chunks, found by key and array, and layers of chunks, found by their document: see
 * values.h.
 */
#include "formats/arrays/values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8192u
#define WAYS   8u /* places that a chunk may have */
#define BYTES  ((size_t)32 << 20)

#define SLABS    4u
#define SLAB_MAX ((uint64_t)4 << 20) /* bytes */

struct place {
    struct tfs_chunk chunk; /* with references */
    const struct tfs_array *array;
    char kind;
    unsigned width;
    uint8_t *values;
    size_t size;
};

/* A layer of chunks, as the file has it. */
struct slab {
    const struct tfs_array *array;
    uint64_t version; /* of the document */
    uint32_t group;
    uint64_t index;
    struct tfs_blob *bytes; /* NULL: nothing */
};

struct tfs_values {
    pthread_mutex_t lock; /* of what follows; nothing is decoded under it */
    size_t bytes;
    size_t next;             /* the place that is emptied when there are too many bytes */
    uint64_t hashes[PLACES]; /* of keys: those of one chunk's places lie together */
    struct place places[PLACES];
    pthread_mutex_t making; /* taken first: two readers of one slab do not both decode it */
    struct slab slabs[SLABS];
    unsigned next_slab;
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
    pthread_mutex_init(&made->making, NULL);
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

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Bytes of a layer of chunks. */
static uint64_t slab_size(const struct tfs_volume *v)
{
    return (tfs_volume_size(v) - TFS_NPY_HEAD) / v->chunks[0];
}

static struct tfs_blob *find_slab(struct tfs_values *values, const struct tfs_array_view *view,
                                  uint64_t index)
{
    struct tfs_blob *found = NULL;

    pthread_mutex_lock(&values->lock);
    for (unsigned i = 0; i < SLABS && found == NULL; i++) {
        const struct slab *s = &values->slabs[i];
        if (s->array == view->array && s->version == view->doc->version &&
            s->group == view->volume.low.group && s->index == index)
            found = tfs_blob_ref(s->bytes);
    }
    pthread_mutex_unlock(&values->lock);
    return found;
}

static void add_slab(struct tfs_values *values, const struct tfs_array_view *view, uint64_t index,
                     struct tfs_blob *bytes)
{
    pthread_mutex_lock(&values->lock);
    struct slab *s = &values->slabs[values->next_slab++ % SLABS];
    tfs_blob_unref(s->bytes);
    *s = (struct slab){view->array, view->doc->version, view->volume.low.group, index,
                       tfs_blob_ref(bytes)};
    pthread_mutex_unlock(&values->lock);
}

/* The memory of the slab that goes next, if nobody reads it and it has that size: to fill memory
 * that was never used costs as much as to decode. */
static void take_memory(struct tfs_values *values, uint64_t size, struct tfs_buf *bytes)
{
    pthread_mutex_lock(&values->lock);
    struct slab *s = &values->slabs[values->next_slab % SLABS];
    struct tfs_blob *old = s->bytes != NULL && s->bytes->size == size ? s->bytes : NULL;
    if (old != NULL)
        *s = (struct slab){0};
    pthread_mutex_unlock(&values->lock);
    if (old != NULL)
        tfs_blob_reclaim(old, bytes);
}

static int make_slab(struct tfs_values *values, const struct tfs_array_view *view, uint64_t index,
                     struct tfs_blob **slab, struct tfs_error *err)
{
    const uint64_t size = slab_size(&view->volume);
    struct tfs_buf bytes = {0};

    pthread_mutex_lock(&values->making);
    *slab = find_slab(values, view, index);
    if (*slab == NULL) {
        take_memory(values, size, &bytes);
        if (tfs_volume_range(&view->volume, TFS_NPY_HEAD + index * size, size, &bytes, err) == 0 &&
            tfs_blob_take(&bytes, slab, err) == 0)
            add_slab(values, view, index, *slab);
    }
    pthread_mutex_unlock(&values->making);
    tfs_buf_release(&bytes);
    return err->code;
}

static int slab_of(struct tfs_values *values, const struct tfs_array_view *view, uint64_t index,
                   struct tfs_blob **slab, struct tfs_error *err)
{
    *slab = find_slab(values, view, index);
    return *slab != NULL ? 0 : make_slab(values, view, index, slab, err);
}

/* Bytes behind the head, of slabs that are kept. */
static int range_of_slabs(struct tfs_values *values, const struct tfs_array_view *view,
                          uint64_t begin, uint64_t end, struct tfs_buf *out, struct tfs_error *err)
{
    const uint64_t size = slab_size(&view->volume);

    tfs_buf_reserve(out, (size_t)(end - begin));
    while (begin < end && err->code == 0) {
        const uint64_t index = begin / size, from = begin % size;
        const uint64_t to = end - index * size < size ? end - index * size : size;
        struct tfs_blob *slab;
        if (slab_of(values, view, index, &slab, err) == 0)
            tfs_buf_add(out, slab->data + from, (size_t)(to - from));
        tfs_blob_unref(slab);
        begin = index * size + to;
    }
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

int tfs_values_range(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const uint64_t whole = tfs_volume_size(v);
    struct tfs_values *values = values_of(view->save);

    if (values == NULL || slab_size(v) > SLAB_MAX || offset >= whole)
        return tfs_volume_range(v, offset, size, out, err);
    const uint64_t end = size < whole - offset ? offset + size : whole;
    if (offset < TFS_NPY_HEAD &&
        tfs_volume_range(v, offset, end < TFS_NPY_HEAD ? end - offset : TFS_NPY_HEAD - offset, out,
                         err) < 0)
        return err->code;
    const uint64_t begin = offset > TFS_NPY_HEAD ? offset - TFS_NPY_HEAD : 0;
    return range_of_slabs(values, view, begin, end > TFS_NPY_HEAD ? end - TFS_NPY_HEAD : 0, out,
                          err);
}

int tfs_values_share(const struct tfs_array_view *view, uint64_t offset, uint64_t size,
                     struct tfs_blob **blob, struct tfs_error *err)
{
    const uint64_t slab_bytes = slab_size(&view->volume), whole = tfs_volume_size(&view->volume);
    struct tfs_values *values = values_of(view->save);
    struct tfs_blob *slab;

    *blob = NULL;
    if (values == NULL || slab_bytes > SLAB_MAX || offset < TFS_NPY_HEAD || offset >= whole)
        return 0;
    const uint64_t from = (offset - TFS_NPY_HEAD) % slab_bytes;
    const uint64_t left = size < whole - offset ? size : whole - offset;
    if (left > slab_bytes - from)
        return 0;
    if (slab_of(values, view, (offset - TFS_NPY_HEAD) / slab_bytes, &slab, err) == 0)
        tfs_blob_slice(slab, (struct tfs_span){slab->data + from, (size_t)left}, blob, err);
    tfs_blob_unref(slab);
    return err->code;
}

void tfs_values_free(struct tfs_values *values)
{
    if (values == NULL)
        return;
    for (size_t i = 0; i < PLACES; i++)
        empty(values, &values->places[i]);
    for (size_t i = 0; i < SLABS; i++)
        tfs_blob_unref(values->slabs[i].bytes);
    pthread_mutex_destroy(&values->making);
    pthread_mutex_destroy(&values->lock);
    free(values);
}
