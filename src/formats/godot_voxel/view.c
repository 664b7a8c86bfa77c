/*
 * A chunk of a document -> its decoded block and instances, from a small cache or decoded now.
 *
 * Must not know which container it is, nor what files show.
 */
#include "formats/godot_voxel/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refs.h"
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

void tfs_godot_view_unref(struct tfs_godot_view *view)
{
    if (view == NULL || !tfs_refs_drop(&view->refs))
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

static bool is_of(const void *view, const void *chunk)
{
    return tfs_chunk_is(&((const struct tfs_godot_view *)view)->chunk, chunk);
}

static size_t weight(const void *object)
{
    const struct tfs_godot_view *view = object;

    return tfs_blob_span(view->stored).size + tfs_blob_span(view->extra).size +
           tfs_blob_span(view->block.data).size;
}

static void object_ref(void *view)
{
    struct tfs_godot_view *of = view;

    tfs_refs_add(&of->refs);
}

static void object_unref(void *view)
{
    tfs_godot_view_unref(view);
}

static const struct tfs_recent_kind views = {is_of, weight, object_ref, object_unref};

/* What could not be fetched may be fetched the next time: SQLite calls a page damaged that the disk
 * failed to give it once. */
static bool is_whole(const struct tfs_godot_view *view)
{
    return view->unread == 0 && (view->damage == NULL || view->stored != NULL);
}

/* The view is made of another chunk with the same content. */
static void set_chunk(struct tfs_godot_view *view, const struct tfs_chunk *chunk)
{
    tfs_blob_ref(chunk->blob);
    tfs_blob_ref(chunk->extra);
    tfs_blob_unref(view->chunk.blob);
    tfs_blob_unref(view->chunk.extra);
    view->chunk = *chunk;
}

int tfs_godot_view_keep(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_chunk *fetched, struct tfs_godot_view **view,
                        struct tfs_error *err)
{
    const struct tfs_chunk *stored = tfs_doc_find(doc, fetched->key);
    const struct tfs_chunk *chunk = stored != NULL ? stored : fetched;
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);
    struct tfs_godot_view *found = tfs_recent_find(&cache->views, chunk);

    if (found == NULL) {
        if (tfs_godot_view_make(save, doc, fetched, &found, err) < 0)
            return err->code;
        set_chunk(found, chunk);
        if (is_whole(found))
            tfs_recent_add(&cache->views, found);
    }
    *view = found;
    return 0;
}

int tfs_godot_view_open(struct tfs_save *save, const struct tfs_doc *doc, struct tfs_key key,
                        struct tfs_godot_view **view, struct tfs_error *err)
{
    const struct tfs_chunk *chunk;

    if (tfs_doc_need(doc, key, &chunk, err) < 0)
        return err->code;
    return tfs_godot_view_keep(save, doc, chunk, view, err);
}

/* ---- the memory's life ----------------------------------------------------------------------- */

int tfs_godot_cache_create(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_cache *cache = calloc(1, sizeof(*cache));

    if (cache == NULL)
        return tfs_fail_memory(err);
    tfs_recent_init(&cache->views, &views, CACHE_BYTES);
    pthread_mutex_init(&cache->counts_lock, NULL);
    save->cache = cache;
    return 0;
}

void tfs_godot_cache_clear(struct tfs_save *save)
{
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);

    tfs_recent_clear(&cache->views);
    tfs_godot_counts_clear(cache);
}

void tfs_godot_cache_free(struct tfs_save *save)
{
    struct tfs_godot_cache *cache = tfs_godot_cache_of(save);

    if (cache == NULL)
        return;
    tfs_godot_cache_clear(save);
    tfs_recent_release(&cache->views);
    pthread_mutex_destroy(&cache->counts_lock);
    free(cache);
    save->cache = NULL;
}
