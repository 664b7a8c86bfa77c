/*
 * A chunk of a document -> its decoded block, from a small cache or decoded now; a changed block ->
 * the edit.
 *
 * Must not know what files show.
 */
#include "formats/luanti/view.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/recent.h"
#include "base/refs.h"
#include "formats/database/rows.h"
#include "formats/luanti/names.h"

#define CACHE_BYTES ((size_t)32 << 20)
#define SAMPLE      64 /* blocks that are looked into to find an order, or a version */

struct cache {
    struct tfs_recent views;
    struct tfs_luanti_memory names;
    pthread_mutex_t lock; /* of what follows */
    /* By version; 0: not found out yet, else the order + 1. */
    unsigned orders[TFS_LUANTI_VERSION_MAX + 1];
    uint8_t newest;     /* version of a block */
    uint64_t newest_in; /* version of the document; 0: none */
};

static struct cache *cache_of(const struct tfs_save *save)
{
    return save->cache;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int keep_damage(struct tfs_luanti_view *view, struct tfs_error *why, struct tfs_error *err)
{
    if (why->code == -EBADMSG || why->code == -EFBIG || why->code == -ENOTSUP) {
        view->damage = strdup(why->text);
        return view->damage == NULL ? tfs_fail_memory(err) : 0;
    }
    return tfs_fail(err, why->code, "%s", why->text);
}

int tfs_luanti_view_make(struct tfs_save *save, const struct tfs_chunk *chunk,
                         struct tfs_luanti_view **view, struct tfs_error *err)
{
    struct tfs_luanti_view *made = calloc(1, sizeof(*made));
    struct tfs_error why = {0};
    struct tfs_blob *extra = NULL;

    if (made == NULL)
        return tfs_fail_memory(err);
    atomic_init(&made->refs, 1);
    made->save = save;
    made->chunk = *chunk;
    made->stored = tfs_blob_ref(tfs_blob_ref(chunk->blob));
    if ((chunk->flags & TFS_CHUNK_UNREAD) != 0)
        save->container->fetch(save, chunk, &made->stored, &extra, &why);
    made->unread = why.code < 0;
    if (why.code == 0)
        tfs_luanti_block_open(tfs_blob_span(made->stored), &made->block, &why);
    if (why.code == 0 || keep_damage(made, &why, err) == 0)
        *view = made;
    else
        tfs_luanti_view_unref(made);
    return err->code;
}

struct tfs_luanti_view *tfs_luanti_view_ref(struct tfs_luanti_view *view)
{
    tfs_refs_add(&view->refs);
    return view;
}

void tfs_luanti_view_unref(struct tfs_luanti_view *view)
{
    if (view == NULL || !tfs_refs_drop(&view->refs))
        return;
    tfs_luanti_block_release(&view->block);
    tfs_blob_unref(view->stored);
    tfs_blob_unref(view->chunk.blob);
    free(view->damage);
    free(view);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static bool is_of(const void *view, const void *chunk)
{
    return tfs_chunk_is(&((const struct tfs_luanti_view *)view)->chunk, chunk);
}

static size_t weight(const void *object)
{
    const struct tfs_luanti_view *view = object;

    return sizeof(*view) + view->block.memory.capacity + tfs_blob_span(view->stored).size;
}

static void object_ref(void *view)
{
    tfs_luanti_view_ref(view);
}

static void object_unref(void *view)
{
    tfs_luanti_view_unref(view);
}

static const struct tfs_recent_kind views = {is_of, weight, object_ref, object_unref};

int tfs_luanti_view_keep(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_chunk *fetched, struct tfs_luanti_view **view,
                         struct tfs_error *err)
{
    const struct tfs_chunk *stored = tfs_doc_find(doc, fetched->key);
    const struct tfs_chunk *chunk = stored != NULL ? stored : fetched;
    struct cache *cache = cache_of(save);
    struct tfs_luanti_view *found = tfs_recent_find(&cache->views, chunk);

    if (found == NULL) {
        if (tfs_luanti_view_make(save, fetched, &found, err) < 0)
            return err->code;
        tfs_blob_unref(found->chunk.blob);
        found->chunk = *chunk;
        tfs_blob_ref(chunk->blob);
        if (!found->unread)
            tfs_recent_add(&cache->views, found);
    }
    *view = found;
    return 0;
}

int tfs_luanti_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_luanti_view **view, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    if (tfs_doc_need(doc, key, &chunk, err) < 0)
        return err->code;
    return tfs_luanti_view_keep(save, doc, chunk, view, err);
}

int tfs_luanti_view_need(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                         struct tfs_luanti_view **view, struct tfs_error *err)
{
    if (tfs_luanti_view_open(save, doc, key, view, err) < 0 || (*view)->damage == NULL)
        return err->code;
    tfs_fail(err, -EBADMSG, "%s", (*view)->damage);
    tfs_luanti_view_unref(*view);
    *view = NULL;
    return err->code;
}

int tfs_luanti_cache_create(struct tfs_save *save, struct tfs_error *err)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    if (cache == NULL)
        return tfs_fail_memory(err);
    tfs_recent_init(&cache->views, &views, CACHE_BYTES);
    tfs_luanti_memory_init(&cache->names);
    pthread_mutex_init(&cache->lock, NULL);
    save->cache = cache;
    return 0;
}

void tfs_luanti_cache_free(struct tfs_save *save)
{
    struct cache *cache = cache_of(save);

    if (cache == NULL)
        return;
    tfs_recent_release(&cache->views);
    tfs_luanti_memory_release(&cache->names);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
    save->cache = NULL;
}

struct tfs_luanti_memory *tfs_luanti_view_memory(struct tfs_save *save)
{
    return &cache_of(save)->names;
}

/* ---- the order of names ---------------------------------------------------------------------- */

/* What the blocks of the version agree on, of some that lie evenly over the document. Those that
 * cannot be read now say nothing. */
static int sample_orders(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                         unsigned *orders, struct tfs_error *err)
{
    const size_t step = doc->count / SAMPLE + 1;

    *orders = (1u << TFS_LUANTI_ORDERS) - 1;
    for (size_t i = 0; i < doc->count; i += step) {
        struct tfs_luanti_view *view;
        struct tfs_error why = {0};
        if (tfs_luanti_view_make(save, tfs_doc_at(doc, i), &view, &why) < 0) {
            if (why.code == -ENOMEM)
                return tfs_fail_memory(err);
            continue;
        }
        if (view->damage == NULL && view->block.version == version)
            *orders &= tfs_luanti_orders_of(&view->block);
        tfs_luanti_view_unref(view);
    }
    return 0;
}

int tfs_luanti_view_order(struct tfs_save *save, const struct tfs_doc *doc, uint8_t version,
                          enum tfs_luanti_order *order, struct tfs_error *err)
{
    struct cache *cache = cache_of(save);
    unsigned orders;

    pthread_mutex_lock(&cache->lock);
    unsigned known = cache->orders[version];
    pthread_mutex_unlock(&cache->lock);
    if (known == 0) {
        if (sample_orders(save, doc, version, &orders, err) < 0)
            return err->code;
        known = (unsigned)tfs_luanti_order_choose(orders, version) + 1;
        pthread_mutex_lock(&cache->lock);
        cache->orders[version] = known;
        pthread_mutex_unlock(&cache->lock);
    }
    *order = (enum tfs_luanti_order)(known - 1);
    return 0;
}

/* ---- the version of new chunks --------------------------------------------------------------- */

static int sample_versions(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *newest,
                           struct tfs_error *err)
{
    const size_t step = doc->count / SAMPLE + 1;
    uint8_t found = 0;

    for (size_t i = 0; i < doc->count; i += step) {
        struct tfs_luanti_view *view;
        if (tfs_luanti_view_make(save, tfs_doc_at(doc, i), &view, err) < 0)
            return err->code;
        if (view->damage == NULL && view->block.version > found)
            found = view->block.version;
        tfs_luanti_view_unref(view);
    }
    *newest = found == 0 ? TFS_LUANTI_VERSION_MAX : found;
    return 0;
}

int tfs_luanti_view_newest(struct tfs_save *save, const struct tfs_doc *doc, uint8_t *version,
                           struct tfs_error *err)
{
    struct cache *cache = cache_of(save);
    uint8_t newest;

    pthread_mutex_lock(&cache->lock);
    const bool known = cache->newest_in == doc->version;
    newest = cache->newest;
    pthread_mutex_unlock(&cache->lock);
    if (!known) {
        if (sample_versions(save, doc, &newest, err) < 0)
            return err->code;
        pthread_mutex_lock(&cache->lock);
        cache->newest = newest;
        cache->newest_in = doc->version;
        pthread_mutex_unlock(&cache->lock);
    }
    *version = newest;
    return 0;
}

/* ---- storing --------------------------------------------------------------------------------- */

int tfs_luanti_view_put(struct tfs_edit *edit, const struct tfs_luanti_view *view,
                        struct tfs_span bytes, struct tfs_error *err)
{
    struct tfs_chunk chunk = view->chunk;

    if (!view->unread && tfs_span_equal(tfs_blob_span(view->stored), bytes))
        return 0;
    if (tfs_rows_keep(view->save, &chunk, bytes, err) == 0)
        tfs_edit_put(edit, &chunk, err);
    tfs_blob_unref(chunk.blob);
    return err->code;
}

int tfs_luanti_view_store(struct tfs_edit *edit, const struct tfs_luanti_view *view,
                          const struct tfs_luanti_block *block, struct tfs_error *err)
{
    struct tfs_buf bytes = {0};

    if (tfs_luanti_block_encode(block, &bytes, err) == 0)
        tfs_luanti_view_put(edit, view, tfs_buf_span(&bytes), err);
    tfs_buf_release(&bytes);
    return err->code;
}
