/*
 * A chunk of a document -> its decoded block and instances, from a small memory or made anew.
 *
 * Must not know which container it is, nor what files show.
 */
#include "formats/godot_voxel/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/cache.h"

#define CACHE_BYTES ((size_t)32 << 20)

/* ---- making ---------------------------------------------------------------------------------- */

static int keep_damage(struct tfs_godot_view *view, const struct tfs_error *why,
                       struct tfs_error *err)
{
    if (why->code == -ENOMEM)
        return tfs_fail_memory(err);
    tfs_godot_block_release(&view->block);
    view->damage = strdup(why->text);
    return view->damage == NULL ? tfs_fail_memory(err) : 0;
}

static int decode(struct tfs_godot_view *view, const struct tfs_godot_rules *rules,
                  struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (view->stored == NULL || view->damage != NULL)
        return 0;
    if (tfs_godot_block_open(view->stored, &view->block, &why) < 0 ||
        tfs_godot_rules_size(rules, &view->block, &why) < 0)
        return keep_damage(view, &why, err);
    view->readable = true;
    return 0;
}

static int fetch(struct tfs_save *save, struct tfs_godot_view *view, struct tfs_error *err)
{
    view->stored = tfs_blob_ref(view->chunk.blob);
    view->extra = tfs_blob_ref(view->chunk.extra);
    if ((view->chunk.flags & TFS_CHUNK_UNREAD_ALL) == 0 ||
        save->container->fetch(save, &view->chunk, &view->stored, &view->extra, err) == 0)
        return 0;
    /* What is damaged where it lies is damage of this chunk, not of all that look at it. */
    if (tfs_chunk_is_unread(&view->chunk, false) &&
        (err->code == -EBADMSG || err->code == -EFBIG)) {
        struct tfs_error why = *err;
        tfs_error_reset(err);
        return keep_damage(view, &why, err);
    }
    if (tfs_chunk_is_unread(&view->chunk, false) || err->code == -ENOMEM || err->code == -ESTALE)
        return err->code;
    /* What was edited is here, and stays readable when the disk is not. */
    view->unread = err->code;
    tfs_error_reset(err);
    return 0;
}

int tfs_godot_view_make(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_chunk *chunk, struct tfs_godot_view **view,
                        struct tfs_error *err)
{
    const struct tfs_godot_rules *rules = tfs_godot_rules(doc);
    struct tfs_godot_view *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return tfs_fail_memory(err);
    atomic_init(&made->refs, 1);
    made->chunk = *chunk;
    tfs_blob_ref(made->chunk.blob);
    tfs_blob_ref(made->chunk.extra);
    if (fetch(save, made, err) < 0 || decode(made, rules, err) < 0) {
        tfs_godot_view_unref(made);
        return err->code;
    }
    *view = made;
    return 0;
}

static struct tfs_godot_view *view_ref(struct tfs_godot_view *view)
{
    atomic_fetch_add_explicit(&view->refs, 1, memory_order_relaxed);
    return view;
}

void tfs_godot_view_unref(struct tfs_godot_view *view)
{
    if (view == NULL || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) > 1)
        return;
    tfs_blob_unref(view->chunk.blob);
    tfs_blob_unref(view->chunk.extra);
    tfs_blob_unref(view->stored);
    tfs_blob_unref(view->extra);
    tfs_godot_block_release(&view->block);
    free(view->damage);
    free(view);
}

/* ---- the cache ------------------------------------------------------------------------------- */

/* Was the view made of just this chunk? What neither holds is told apart by its own number. */
static bool is_of(const struct tfs_godot_view *view, const struct tfs_chunk *chunk)
{
    const struct tfs_chunk *made = &view->chunk;

    return tfs_key_compare(made->key, chunk->key) == 0 && made->blob == chunk->blob &&
           made->extra == chunk->extra && made->flags == chunk->flags &&
           ((chunk->flags & TFS_CHUNK_UNREAD_ALL) == 0 || made->own == chunk->own);
}

static struct tfs_godot_view *cache_find(struct tfs_godot_cache *cache,
                                         const struct tfs_chunk *chunk)
{
    struct tfs_godot_view *found = NULL;

    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < TFS_GODOT_CACHE_VIEWS && found == NULL; i++) {
        if (cache->views[i] != NULL && is_of(cache->views[i], chunk)) {
            found = view_ref(cache->views[i]);
            cache->used[i] = ++cache->clock;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static size_t weight(const struct tfs_godot_view *view)
{
    return tfs_blob_span(view->stored).size + tfs_blob_span(view->extra).size +
           tfs_blob_span(view->block.data).size;
}

/* The view longest not asked for, or an empty entry; `full`: never an empty one. */
static unsigned cache_oldest(const struct tfs_godot_cache *cache, bool full)
{
    unsigned oldest = TFS_GODOT_CACHE_VIEWS;

    for (unsigned i = 0; i < TFS_GODOT_CACHE_VIEWS; i++) {
        if (cache->views[i] == NULL && full)
            continue;
        if (cache->views[i] == NULL)
            return i;
        if (oldest == TFS_GODOT_CACHE_VIEWS || cache->used[i] < cache->used[oldest])
            oldest = i;
    }
    return oldest;
}

static void cache_drop(struct tfs_godot_cache *cache, unsigned i)
{
    tfs_godot_view_unref(cache->views[i]);
    cache->views[i] = NULL;
}

static void cache_add(struct tfs_godot_cache *cache, struct tfs_godot_view *view)
{
    size_t total = 0;

    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < TFS_GODOT_CACHE_VIEWS; i++)
        total += cache->views[i] != NULL ? weight(cache->views[i]) : 0;
    for (unsigned i; total + weight(view) > CACHE_BYTES && total > 0; cache_drop(cache, i)) {
        i = cache_oldest(cache, true);
        total -= weight(cache->views[i]);
    }
    unsigned i = cache_oldest(cache, false);
    cache_drop(cache, i);
    cache->views[i] = view_ref(view);
    cache->used[i] = ++cache->clock;
    pthread_mutex_unlock(&cache->lock);
}

/* What could not be fetched may be fetched the next time: SQLite calls a page damaged that the disk
 * failed to give it once. */
static bool is_whole(const struct tfs_godot_view *view)
{
    return view->unread == 0 && (view->damage == NULL || view->stored != NULL);
}

int tfs_godot_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_godot_view **view, struct tfs_error *err)
{
    const struct tfs_chunk *chunk = tfs_doc_find(doc, key);

    if (chunk == NULL)
        return tfs_fail(err, -ENOENT, "there is no chunk %d_%d_%d", key.x, key.y, key.z);
    struct tfs_godot_view *found = cache_find(save->cache, chunk);
    if (found == NULL) {
        if (tfs_godot_view_make(save, doc, chunk, &found, err) < 0)
            return err->code;
        if (is_whole(found))
            cache_add(save->cache, found);
    }
    *view = found;
    return 0;
}

/* ---- the memory's life ----------------------------------------------------------------------- */

int tfs_godot_cache_create(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_cache *cache = calloc(1, sizeof(*cache));

    if (cache == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_mutex_init(&cache->counts_lock, NULL);
    save->cache = cache;
    return 0;
}

void tfs_godot_cache_clear(struct tfs_save *save)
{
    struct tfs_godot_cache *cache = save->cache;

    pthread_mutex_lock(&cache->lock);
    for (unsigned i = 0; i < TFS_GODOT_CACHE_VIEWS; i++)
        cache_drop(cache, i);
    pthread_mutex_unlock(&cache->lock);
    tfs_godot_counts_clear(cache);
}

void tfs_godot_cache_free(struct tfs_save *save)
{
    struct tfs_godot_cache *cache = save->cache;

    if (cache == NULL)
        return;
    tfs_godot_cache_clear(save);
    pthread_mutex_destroy(&cache->lock);
    pthread_mutex_destroy(&cache->counts_lock);
    free(cache);
    save->cache = NULL;
}
