/*
 * Layers of chunks, found by the document that they are of, and chunks, found by their keys: see
 * kept.h.
 */
#include "formats/views/arrays/kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; the headers of before lack it */
#endif

#define LAYERS     4u
#define LAYER_MAX  ((uint64_t)4 << 20) /* bytes */
#define LARGE_PAGE ((size_t)2 << 20)
/* Ahead of readers of less nothing is decoded: a request of the kernel is larger. */
#define AHEAD_MIN ((uint64_t)256 << 10)

#define FILE_PAGE 4096u
#define TOGETHER  64u /* chunks that are fetched in one go */

#define CHUNK_SETS  1024u
#define CHUNK_WAYS  8u /* places that a chunk may have */
#define CHUNK_BYTES ((size_t)32 << 20)

/* What values are of. The last three may become others without another document, where a chunk
 * could not be read for a moment. */
struct name {
    uint64_t index;   /* of a layer */
    uint64_t version; /* of the document; 0: of a chunk */
    uint64_t empty;
    struct tfs_key low; /* of the array */
    uint64_t size;      /* of the array: that of a chunk may begin where that of all does */
    uint16_t side; /* values a chunk has along x: where both are as large, too, chunks at an edge
                    * have fewer in their own array */
    uint16_t plane;
    uint16_t kind;
    uint16_t width;
};

struct layer {
    struct name name;
    struct tfs_blob *bytes; /* NULL: nothing */
};

struct chunk {
    struct name name;
    struct tfs_chunk chunk; /* with references */
    uint8_t *values;        /* NULL: nothing */
    size_t size;
};

struct tfs_kept {
    pthread_mutex_t making; /* of `spare`; taken first: no layer is decoded twice at once */
    struct tfs_buf spare;   /* memory for the next one */
    pthread_mutex_t lock;   /* of what follows; nothing is decoded under it */
    struct layer layers[LAYERS];
    unsigned next_layer;
    struct chunk *chunks; /* CHUNK_SETS times CHUNK_WAYS; NULL: none was kept so far */
    unsigned next_chunk;  /* the place that is emptied when there are too many bytes */
    size_t bytes;         /* of chunks */
};

struct tfs_kept *tfs_kept_create(void)
{
    struct tfs_kept *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return NULL;
    pthread_mutex_init(&made->making, NULL);
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

static struct name name_of_chunk(const struct tfs_array *a)
{
    return (struct name){.empty = a->empty,
                         .low = a->low,
                         .size = tfs_array_size(a),
                         .side = (uint16_t)a->sides[2],
                         .plane = (uint16_t)a->plane,
                         .kind = (unsigned char)a->kind,
                         .width = (uint16_t)a->width};
}

static struct name name_of_layer(const struct tfs_array *a, uint64_t index)
{
    struct name name = name_of_chunk(a);

    name.index = index;
    name.version = a->doc->version;
    return name;
}

static bool is_same(const struct name *a, const struct name *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* With the lock, as the two that follow. */
static void forget_chunk(struct tfs_kept *kept, struct chunk *c)
{
    kept->bytes -= c->size;
    tfs_chunk_unref(&c->chunk);
    free(c->values);
    *c = (struct chunk){0};
}

/* The places that a chunk may have. */
static struct chunk *places_of(struct tfs_kept *kept, struct tfs_key key)
{
    uint64_t n = (uint64_t)key.group << 32 | (uint32_t)key.y;

    n = (n * 0x9e3779b97f4a7c15u ^ (uint32_t)key.z) * 0x9e3779b97f4a7c15u;
    n = (n ^ (uint32_t)key.x) * 0x9e3779b97f4a7c15u;
    return &kept->chunks[(n >> 32) % CHUNK_SETS * CHUNK_WAYS];
}

/* Takes the memory of the values. */
static void keep_chunk(struct tfs_kept *kept, const struct name *name,
                       const struct tfs_chunk *chunk, uint8_t *values, size_t size)
{
    unsigned i = 0;

    pthread_mutex_lock(&kept->lock);
    if (kept->chunks == NULL)
        kept->chunks = calloc(CHUNK_SETS * CHUNK_WAYS, sizeof(*kept->chunks));
    if (kept->chunks == NULL) {
        pthread_mutex_unlock(&kept->lock);
        free(values);
        return;
    }
    struct chunk *places = places_of(kept, chunk->key);
    while (i < CHUNK_WAYS && places[i].values != NULL)
        i++;
    struct chunk *c = &places[i < CHUNK_WAYS ? i : kept->next_chunk++ % CHUNK_WAYS];
    forget_chunk(kept, c);
    for (; kept->bytes + size > CHUNK_BYTES && kept->bytes > 0; kept->next_chunk++)
        forget_chunk(kept, &kept->chunks[kept->next_chunk % (CHUNK_SETS * CHUNK_WAYS)]);
    *c = (struct chunk){*name, *chunk, values, size};
    tfs_chunk_ref(&c->chunk);
    kept->bytes += size;
    pthread_mutex_unlock(&kept->lock);
}

/* Copies values of a chunk; false: it is not kept. */
static bool copy_chunk(struct tfs_kept *kept, const struct name *name,
                       const struct tfs_chunk *chunk, size_t offset, size_t size, uint8_t *out)
{
    pthread_mutex_lock(&kept->lock);
    const struct chunk *c = kept->chunks != NULL ? places_of(kept, chunk->key) : NULL;
    const struct chunk *end = c != NULL ? c + CHUNK_WAYS : NULL;
    while (c < end && (c->values == NULL || tfs_key_compare(c->chunk.key, chunk->key) != 0 ||
                       !is_same(&c->name, name) || !tfs_chunk_is(&c->chunk, chunk)))
        c++;
    if (c < end && size > 0)
        memcpy(out, c->values + offset, size);
    pthread_mutex_unlock(&kept->lock);
    return c < end;
}

/* Decodes all of a chunk, whose bytes may be fetched already, and keeps it. */
static int decode_chunk(struct tfs_kept *kept, const struct tfs_array *a,
                        const struct tfs_chunk *chunk, const struct tfs_chunk *fetched,
                        struct tfs_error *err)
{
    const struct name name = name_of_chunk(a);
    const size_t size = tfs_array_volume(a) * a->width;
    uint8_t *values = malloc(size);

    if (values == NULL)
        return tfs_fail_memory(err);
    if (tfs_array_layers(a, fetched, 0, a->sides[0], values, err) == 0)
        keep_chunk(kept, &name, chunk, values, size);
    else
        free(values);
    return err->code;
}

struct fetching {
    struct tfs_kept *kept;
    const struct tfs_array *array;
};

/* A tfs_fetched_fn. */
static void decode_fetched(void *arg, const struct tfs_chunk *fetched, struct tfs_error *err)
{
    const struct fetching *f = arg;
    struct tfs_error ignored = {0};

    if (err->code == 0)
        decode_chunk(f->kept, f->array, tfs_doc_find(f->array->doc, fetched->key), fetched,
                     &ignored);
}

/* The chunk, and those that follow it along x within a page of the file, where they lie in the save
 * alone. To fetch rows of a database in one go costs less: the rows "a map of 4 GB" of the bench.
 * What cannot be read is left to who asks for it. */
static void decode_chunks(struct tfs_kept *kept, const struct tfs_array *a,
                          const struct tfs_chunk *chunk)
{
    const struct name name = name_of_chunk(a);
    const int64_t end = (int64_t)chunk->key.x + (int64_t)(FILE_PAGE / tfs_array_row(a));
    struct fetching fetching = {kept, a};
    struct tfs_chunk fetched[TOGETHER];
    struct tfs_error ignored = {0};
    size_t count = 0;

    for (size_t i = tfs_doc_lower_bound(a->doc, chunk->key); i < a->doc->count && count < TOGETHER;
         i++) {
        const struct tfs_chunk *next = tfs_doc_at(a->doc, i);
        const struct tfs_key key = {chunk->key.group, next->key.x, chunk->key.y, chunk->key.z};
        if (tfs_key_compare(next->key, key) != 0 || next->key.x > end)
            break;
        if (!tfs_chunk_is_unread(next, false) || (next->flags & TFS_CHUNK_DAMAGED) != 0 ||
            copy_chunk(kept, &name, next, 0, 0, NULL))
            continue;
        fetched[count++] = *next;
        tfs_chunk_ref(next);
    }
    tfs_chunks_each(a->save, fetched, count, decode_fetched, &fetching, &ignored);
}

/* Most games decode a chunk as a whole, and other layers of it are asked for next. */
int tfs_kept_layers(const struct tfs_array *a, const struct tfs_chunk *chunk, uint32_t from,
                    uint32_t to, uint8_t *values, struct tfs_error *err)
{
    const size_t layer = (size_t)(a->sides[1] * tfs_array_row(a));
    const size_t offset = from * layer, size = (to - from) * layer;
    const struct name name = name_of_chunk(a);
    struct tfs_kept *kept = a->save->kept;

    if (copy_chunk(kept, &name, chunk, offset, size, values))
        return 0;
    if (to - from < a->sides[0]) {
        if (tfs_chunk_is_unread(chunk, false))
            decode_chunks(kept, a, chunk);
        else if (decode_chunk(kept, a, chunk, chunk, err) < 0)
            return err->code;
        if (copy_chunk(kept, &name, chunk, offset, size, values))
            return 0;
    }
    return tfs_array_layers(a, chunk, from, to, values, err);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Bytes of a layer of chunks. */
static uint64_t layer_size(const struct tfs_array *a)
{
    return (tfs_array_size(a) - TFS_NPY_HEAD) / a->chunks[0];
}

/* NULL: it is not kept. With the lock. */
static struct layer *find_layer(struct tfs_kept *kept, const struct name *name)
{
    for (unsigned i = 0; i < LAYERS; i++)
        if (kept->layers[i].bytes != NULL && is_same(&kept->layers[i].name, name))
            return &kept->layers[i];
    return NULL;
}

/* Where a layer may go without one that somebody reads: an empty place, or that of the one before
 * the last, which its reader has left. NULL: nowhere. With the lock. */
static struct layer *free_place(struct tfs_kept *kept, struct name name)
{
    struct layer *place = NULL;

    name.index -= 2;
    if (name.index + 2 >= 2)
        place = find_layer(kept, &name);
    for (unsigned i = 0; i < LAYERS && place == NULL; i++)
        if (kept->layers[i].bytes == NULL)
            place = &kept->layers[i];
    return place;
}

/* With `making`, as all below that is not said to take it. What was there before gives its memory:
 * to fill memory that was never used costs as much as to decode. */
static void keep_layer(struct tfs_kept *kept, const struct name *name, struct tfs_blob *bytes)
{
    pthread_mutex_lock(&kept->lock);
    struct layer *place = free_place(kept, *name);
    if (place == NULL)
        place = &kept->layers[kept->next_layer++ % LAYERS];
    struct tfs_blob *old = place->bytes;
    *place = (struct layer){*name, tfs_blob_ref(bytes)};
    pthread_mutex_unlock(&kept->lock);
    if (old != NULL)
        tfs_blob_reclaim(old, &kept->spare);
}

/* Memory that was never used is got in one call, in large pages where the kernel has them: page by
 * page, as it is filled, it costs as much as to decode. */
static void get_memory(struct tfs_buf *bytes, uint64_t size)
{
    const size_t page = size < LARGE_PAGE / 2 ? (size_t)sysconf(_SC_PAGESIZE) : LARGE_PAGE;
    const size_t room = ((size_t)size + page - 1) / page * page;
    void *data = NULL;

    if (bytes->capacity >= size || posix_memalign(&data, page, room) != 0)
        return;
    tfs_buf_release(bytes);
    *bytes = (struct tfs_buf){.data = data, .capacity = room};
    if (page == LARGE_PAGE)
        (void)madvise(data, room, MADV_HUGEPAGE);
    (void)madvise(data, room, MADV_POPULATE_WRITE);
}

/* A reference; NULL: it cannot be decoded, or there is no memory. */
static struct tfs_blob *decode_layer(struct tfs_kept *kept, const struct tfs_array *a,
                                     const struct name *name)
{
    const uint64_t size = layer_size(a);
    struct tfs_error ignored = {0};
    struct tfs_blob *layer = NULL;
    struct tfs_buf bytes = kept->spare;

    kept->spare = (struct tfs_buf){0};
    tfs_buf_clear(&bytes);
    get_memory(&bytes, size);
    if (tfs_array_range(a, TFS_NPY_HEAD + name->index * size, size, &bytes, &ignored) == 0) {
        /* A large page of which the end is given back is none any more. */
        bytes.size = bytes.capacity;
        if (tfs_blob_take(&bytes, &layer, &ignored) == 0)
            keep_layer(kept, name, layer);
    }
    tfs_buf_release(&bytes);
    return layer;
}

/* A reference; NULL: it is not kept. */
static struct tfs_blob *kept_layer(struct tfs_kept *kept, const struct name *name)
{
    pthread_mutex_lock(&kept->lock);
    const struct layer *found = find_layer(kept, name);
    struct tfs_blob *bytes = found != NULL ? tfs_blob_ref(found->bytes) : NULL;
    pthread_mutex_unlock(&kept->lock);
    return bytes;
}

/* The same, which is decoded where it is not kept. NULL: ask for ranges. Takes `making`. */
static struct tfs_blob *layer_of(const struct tfs_array *a, uint64_t index)
{
    struct tfs_kept *kept = a->save->kept;
    const struct name name = name_of_layer(a, index);
    const bool small = layer_size(a) <= LAYER_MAX;
    struct tfs_blob *layer = small ? kept_layer(kept, &name) : NULL;

    if (layer != NULL || !small)
        return layer;
    pthread_mutex_lock(&kept->making);
    layer = kept_layer(kept, &name);
    if (layer == NULL)
        layer = decode_layer(kept, a, &name);
    pthread_mutex_unlock(&kept->making);
    return layer;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Appends bytes that lie in one layer, which is kept, or (NULL) in the head or in what is not. */
static void add_part(const struct tfs_array *a, const struct tfs_blob *layer, uint64_t offset,
                     uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    if (layer != NULL)
        tfs_buf_add(out, layer->data + (offset - TFS_NPY_HEAD) % layer_size(a), (size_t)size);
    else
        tfs_array_range(a, offset, size, out, err);
}

/* A part of one layer is a reference. */
int tfs_kept_range(const struct tfs_array *a, uint64_t offset, uint64_t size,
                   struct tfs_blob **part, struct tfs_error *err)
{
    const uint64_t whole = tfs_array_size(a), layer = layer_size(a), begin = offset;
    const uint64_t end = offset >= whole ? offset : size < whole - offset ? offset + size : whole;
    struct tfs_buf out = {0};

    *part = NULL;
    for (uint64_t to; offset < end && err->code == 0; offset = to) {
        const uint64_t from = offset - TFS_NPY_HEAD;
        struct tfs_blob *bytes = offset < TFS_NPY_HEAD ? NULL : layer_of(a, from / layer);
        to = offset < TFS_NPY_HEAD ? TFS_NPY_HEAD : offset + layer - from % layer;
        to = to < end ? to : end;
        if (bytes != NULL && to - offset == end - begin)
            tfs_blob_slice(bytes,
                           (struct tfs_span){bytes->data + from % layer, (size_t)(to - offset)},
                           part, err);
        else
            add_part(a, bytes, offset, to - offset, &out, err);
        tfs_blob_unref(bytes);
    }
    if (err->code == 0 && *part == NULL)
        tfs_blob_take(&out, part, err);
    tfs_buf_release(&out);
    return err->code;
}

/* Is the layer lacking behind two that are kept, and is there a place for it? */
static bool is_wanted(struct tfs_kept *kept, const struct name *name)
{
    struct name before = *name, first = *name;

    before.index -= 1;
    first.index -= name->index > 1 ? 2 : 1;
    pthread_mutex_lock(&kept->lock);
    const bool wanted = find_layer(kept, &before) != NULL && find_layer(kept, &first) != NULL &&
                        find_layer(kept, name) == NULL && free_place(kept, *name) != NULL;
    pthread_mutex_unlock(&kept->lock);
    return wanted;
}

void tfs_kept_ahead(const struct tfs_array *a, uint64_t offset, uint64_t size)
{
    const uint64_t layer = layer_size(a), end = offset + size;

    if (layer < AHEAD_MIN || layer > LAYER_MAX || end <= TFS_NPY_HEAD)
        return;
    const uint64_t last = end - 1 - TFS_NPY_HEAD;
    const struct name next = name_of_layer(a, last / layer + 1);
    struct tfs_kept *kept = a->save->kept;
    /* Requests of the layer before, whose place this one takes, have all been answered in the last
     * quarters. Who waits for another layer does not wait for this one, too. */
    if (last % layer < layer / 4 || next.index >= a->chunks[0] || !is_wanted(kept, &next) ||
        pthread_mutex_trylock(&kept->making) != 0)
        return;
    if (is_wanted(kept, &next))
        tfs_blob_unref(decode_layer(kept, a, &next));
    pthread_mutex_unlock(&kept->making);
}

void tfs_kept_free(struct tfs_kept *kept)
{
    if (kept == NULL)
        return;
    for (unsigned i = 0; i < LAYERS; i++)
        tfs_blob_unref(kept->layers[i].bytes);
    for (unsigned i = 0; kept->chunks != NULL && i < CHUNK_SETS * CHUNK_WAYS; i++)
        forget_chunk(kept, &kept->chunks[i]);
    free(kept->chunks);
    tfs_buf_release(&kept->spare);
    pthread_mutex_destroy(&kept->lock);
    pthread_mutex_destroy(&kept->making);
    free(kept);
}
