/*
 * Layers of chunks, found by the document that they are of: see slabs.h.
 */
#include "formats/arrays/slabs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; the headers of before lack it */
#endif

#define SLAB_MAX   ((uint64_t)4 << 20) /* bytes */
#define LARGE_PAGE ((size_t)2 << 20)

/* Ahead of readers of less nothing is decoded: a request of the kernel is larger. */
#define AHEAD_MIN ((uint64_t)256 << 10)
/* Requests of one reader come in any order. */
#define DISORDER ((uint64_t)512 << 10)

void tfs_slabs_init(struct tfs_slabs *slabs)
{
    pthread_mutex_init(&slabs->making, NULL);
    pthread_mutex_init(&slabs->lock, NULL);
}

void tfs_slabs_release(struct tfs_slabs *slabs)
{
    for (size_t i = 0; i < TFS_SLABS; i++)
        tfs_blob_unref(slabs->slabs[i].bytes);
    tfs_buf_release(&slabs->spare);
    pthread_mutex_destroy(&slabs->lock);
    pthread_mutex_destroy(&slabs->making);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Bytes of a layer of chunks. */
static uint64_t slab_size(const struct tfs_volume *v)
{
    return (tfs_volume_size(v) - TFS_NPY_HEAD) / v->chunks[0];
}

static struct tfs_slab_name name_of(const struct tfs_array_view *view, uint64_t index)
{
    const struct tfs_volume *v = &view->volume;

    return (struct tfs_slab_name){view->array, view->doc->version, v->low.group, index,
                                  v->kind,     v->width,           v->empty};
}

static bool is_same(const struct tfs_slab_name *a, const struct tfs_slab_name *b)
{
    return a->array == b->array && a->version == b->version && a->group == b->group &&
           a->index == b->index && a->kind == b->kind && a->width == b->width &&
           a->empty == b->empty;
}

/* NULL: it is not kept. With the lock. */
static struct tfs_slab *slab_named(struct tfs_slabs *slabs, const struct tfs_slab_name *name)
{
    for (unsigned i = 0; i < TFS_SLABS; i++)
        if (slabs->slabs[i].bytes != NULL && is_same(&slabs->slabs[i].name, name))
            return &slabs->slabs[i];
    return NULL;
}

static bool is_bad(struct tfs_slabs *slabs, const struct tfs_slab_name *name)
{
    pthread_mutex_lock(&slabs->lock);
    const bool bad = is_same(&slabs->bad, name);
    pthread_mutex_unlock(&slabs->lock);
    return bad;
}

/* A reference, or NULL. */
static struct tfs_blob *find_slab(struct tfs_slabs *slabs, const struct tfs_slab_name *name)
{
    pthread_mutex_lock(&slabs->lock);
    const struct tfs_slab *found = slab_named(slabs, name);
    struct tfs_blob *bytes = found != NULL ? tfs_blob_ref(found->bytes) : NULL;
    pthread_mutex_unlock(&slabs->lock);
    return bytes;
}

/* Where a slab may go without one that somebody reads: an empty place, or that of the one before
 * the last, which its reader has left. NULL: nowhere. With the lock. */
static struct tfs_slab *free_place(struct tfs_slabs *slabs, const struct tfs_slab_name *name)
{
    struct tfs_slab_name left = *name;
    struct tfs_slab *place = NULL;

    left.index -= 2;
    if (name->index >= 2)
        place = slab_named(slabs, &left);
    for (unsigned i = 0; i < TFS_SLABS && place == NULL; i++)
        if (slabs->slabs[i].bytes == NULL)
            place = &slabs->slabs[i];
    return place;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* With `making`, as all below that is not said to take it. What was there before gives its memory:
 * to fill memory that was never used costs as much as to decode. */
static void add_slab(struct tfs_slabs *slabs, const struct tfs_slab_name *name,
                     struct tfs_blob *bytes)
{
    pthread_mutex_lock(&slabs->lock);
    struct tfs_slab *place = free_place(slabs, name);
    if (place == NULL)
        place = &slabs->slabs[slabs->next_slab++ % TFS_SLABS];
    struct tfs_blob *old = place->bytes;
    *place = (struct tfs_slab){*name, tfs_blob_ref(bytes)};
    pthread_mutex_unlock(&slabs->lock);
    if (old != NULL)
        tfs_blob_reclaim(old, &slabs->spare);
}

/* Memory that was never used is got in one call, in large pages where the kernel has them: page by
 * page, as it is filled, it costs as much as to decode. */
static void get_memory(struct tfs_buf *bytes, uint64_t size)
{
    const size_t small = (size_t)sysconf(_SC_PAGESIZE);
    const size_t page = size < LARGE_PAGE / 2 ? small : LARGE_PAGE;
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

/* The blob has all of the memory, and the values at its beginning: a large page of which the end is
 * given back is none any more. */
static int take_slab(struct tfs_buf *bytes, struct tfs_blob **slab, struct tfs_error *err)
{
    bytes->size = bytes->capacity;
    return tfs_blob_take(bytes, slab, err);
}

/* A reference; NULL: it cannot be decoded, or there is no memory. */
static struct tfs_blob *decode_slab(struct tfs_slabs *slabs, const struct tfs_array_view *view,
                                    const struct tfs_slab_name *name)
{
    const uint64_t size = slab_size(&view->volume);
    struct tfs_error ignored = {0};
    struct tfs_blob *slab = NULL;
    struct tfs_buf bytes = slabs->spare;

    slabs->spare = (struct tfs_buf){0};
    tfs_buf_clear(&bytes);
    get_memory(&bytes, size);
    if (tfs_volume_range(&view->volume, TFS_NPY_HEAD + name->index * size, size, &bytes,
                         &ignored) == 0 &&
        take_slab(&bytes, &slab, &ignored) == 0) {
        add_slab(slabs, name, slab);
        return slab;
    }
    tfs_buf_release(&bytes);
    if (ignored.code == -ENOMEM)
        return NULL;
    pthread_mutex_lock(&slabs->lock);
    slabs->bad = *name;
    pthread_mutex_unlock(&slabs->lock);
    return NULL;
}

/* A reference; NULL: ask for ranges. Takes `making`. */
static struct tfs_blob *slab_of(struct tfs_slabs *slabs, const struct tfs_array_view *view,
                                uint64_t index)
{
    const struct tfs_slab_name name = name_of(view, index);
    struct tfs_blob *slab = find_slab(slabs, &name);

    if (slab != NULL || is_bad(slabs, &name))
        return slab;
    pthread_mutex_lock(&slabs->making);
    slab = find_slab(slabs, &name);
    if (slab == NULL && !is_bad(slabs, &name))
        slab = decode_slab(slabs, view, &name);
    pthread_mutex_unlock(&slabs->making);
    return slab;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Bytes behind the head. */
static int add_values(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t begin,
                      uint64_t end, struct tfs_buf *out, struct tfs_error *err)
{
    const uint64_t size = slab_size(&view->volume);

    tfs_buf_reserve(out, (size_t)(end - begin));
    while (begin < end && err->code == 0) {
        const uint64_t index = begin / size, from = begin % size;
        const uint64_t to = end - index * size < size ? end - index * size : size;
        struct tfs_blob *slab = slab_of(slabs, view, index);
        if (slab != NULL)
            tfs_buf_add(out, slab->data + from, (size_t)(to - from));
        else
            tfs_volume_range(&view->volume, TFS_NPY_HEAD + begin, to - from, out, err);
        tfs_blob_unref(slab);
        begin = index * size + to;
    }
    return err->code < 0 ? err->code : tfs_buf_check(out, err);
}

int tfs_slabs_range(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                    uint64_t size, struct tfs_buf *out, struct tfs_error *err)
{
    const struct tfs_volume *v = &view->volume;
    const uint64_t whole = tfs_volume_size(v);

    if (slab_size(v) > SLAB_MAX || offset >= whole)
        return tfs_volume_range(v, offset, size, out, err);
    const uint64_t end = size < whole - offset ? offset + size : whole;
    if (offset < TFS_NPY_HEAD &&
        tfs_volume_range(v, offset, end < TFS_NPY_HEAD ? end - offset : TFS_NPY_HEAD - offset, out,
                         err) < 0)
        return err->code;
    const uint64_t begin = offset > TFS_NPY_HEAD ? offset - TFS_NPY_HEAD : 0;
    return add_values(slabs, view, begin, end > TFS_NPY_HEAD ? end - TFS_NPY_HEAD : 0, out, err);
}

int tfs_slabs_share(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                    uint64_t size, struct tfs_blob **blob, struct tfs_error *err)
{
    const uint64_t slab_bytes = slab_size(&view->volume), whole = tfs_volume_size(&view->volume);

    *blob = NULL;
    if (slab_bytes > SLAB_MAX || offset < TFS_NPY_HEAD || offset >= whole)
        return 0;
    const uint64_t from = (offset - TFS_NPY_HEAD) % slab_bytes;
    const uint64_t left = size < whole - offset ? size : whole - offset;
    if (left > slab_bytes - from)
        return 0;
    struct tfs_blob *slab = slab_of(slabs, view, (offset - TFS_NPY_HEAD) / slab_bytes);
    if (slab != NULL)
        tfs_blob_slice(slab, (struct tfs_span){slab->data + from, (size_t)left}, blob, err);
    tfs_blob_unref(slab);
    return err->code;
}

/* ---- reading ahead --------------------------------------------------------------------------- */

/* How many bytes the reader of these read one behind the other, as far as is known. */
static uint64_t follow(struct tfs_slabs *slabs, const struct tfs_slab_name *array, uint64_t offset,
                       uint64_t size)
{
    struct tfs_slab_reader *r = NULL;
    uint64_t count;

    pthread_mutex_lock(&slabs->lock);
    for (unsigned i = 0; i < TFS_SLAB_READERS && r == NULL; i++)
        if (is_same(&slabs->readers[i].name, array) &&
            offset <= slabs->readers[i].next + DISORDER &&
            offset + DISORDER >= slabs->readers[i].next)
            r = &slabs->readers[i];
    if (r == NULL) {
        r = &slabs->readers[slabs->next_reader++ % TFS_SLAB_READERS];
        *r = (struct tfs_slab_reader){*array, offset, offset};
    }
    r->begin = offset < r->begin ? offset : r->begin;
    r->next = offset + size > r->next ? offset + size : r->next;
    count = r->next - r->begin;
    pthread_mutex_unlock(&slabs->lock);
    return count;
}

/* Is it lacking behind one that is kept, and is there a place for it? Behind a bad one it could be
 * bad, too: one of them would be tried again with each request. */
static bool is_wanted(struct tfs_slabs *slabs, const struct tfs_slab_name *name)
{
    struct tfs_slab_name before = *name;

    before.index--;
    pthread_mutex_lock(&slabs->lock);
    const bool wanted = slab_named(slabs, &before) != NULL && slab_named(slabs, name) == NULL &&
                        !is_same(&slabs->bad, name) && free_place(slabs, name) != NULL;
    pthread_mutex_unlock(&slabs->lock);
    return wanted;
}

void tfs_slabs_ahead(struct tfs_slabs *slabs, const struct tfs_array_view *view, uint64_t offset,
                     uint64_t size)
{
    const uint64_t slab_bytes = slab_size(&view->volume), end = offset + size;
    const struct tfs_slab_name array = name_of(view, 0);

    if (slab_bytes < AHEAD_MIN || slab_bytes > SLAB_MAX || end <= TFS_NPY_HEAD ||
        follow(slabs, &array, offset, size) < slab_bytes)
        return;
    const struct tfs_slab_name next = name_of(view, (end - 1 - TFS_NPY_HEAD) / slab_bytes + 1);
    /* Requests of the slab before, whose place this one takes, have all been answered. */
    if ((end - 1 - TFS_NPY_HEAD) % slab_bytes < slab_bytes / 4)
        return;
    /* Who waits for another slab does not wait for this one, too. */
    if (next.index >= view->volume.chunks[0] || !is_wanted(slabs, &next) ||
        pthread_mutex_trylock(&slabs->making) != 0)
        return;
    if (is_wanted(slabs, &next))
        tfs_blob_unref(decode_slab(slabs, view, &next));
    pthread_mutex_unlock(&slabs->making);
}
