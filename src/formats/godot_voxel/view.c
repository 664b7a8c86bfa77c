/*
 * A chunk of a document -> its decoded block and instances, from a small memory or made anew.
 *
 * Must not know which container it is, nor what files show.
 */
#include "formats/godot_voxel/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/godot_voxel/memo.h"

#define MEMO_BYTES ((size_t)32 << 20)

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

static int fetch(struct tfs_save *save, const struct tfs_godot_rules *rules,
                 struct tfs_godot_view *view, struct tfs_error *err)
{
    view->stored = tfs_blob_ref(view->chunk.blob);
    view->extra = tfs_blob_ref(view->chunk.extra);
    if (view->chunk.tag == 0 ||
        rules->fetch(save, &view->chunk, &view->stored, &view->extra, err) == 0)
        return 0;
    /* What is damaged where it lies is damage of this chunk, not of all that look at it. */
    if ((view->chunk.tag & TFS_GODOT_LAZY) != 0 && (err->code == -EBADMSG || err->code == -EFBIG)) {
        struct tfs_error why = *err;
        tfs_error_reset(err);
        return keep_damage(view, &why, err);
    }
    if (view->chunk.tag != TFS_GODOT_LAZY_EXTRA || err->code == -ENOMEM || err->code == -ESTALE)
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
    if (fetch(save, rules, made, err) < 0 || decode(made, rules, err) < 0) {
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

/* ---- remembering ----------------------------------------------------------------------------- */

/* Was the view made of just this chunk? What neither holds is told apart by its place. */
static bool is_of(const struct tfs_godot_view *view, const struct tfs_chunk *chunk)
{
    const struct tfs_chunk *made = &view->chunk;

    return tfs_key_compare(made->key, chunk->key) == 0 && made->blob == chunk->blob &&
           made->extra == chunk->extra && made->tag == chunk->tag &&
           (chunk->tag == 0 || made->place == chunk->place);
}

static struct tfs_godot_view *memo_find(struct tfs_godot_memo *memo, const struct tfs_chunk *chunk)
{
    struct tfs_godot_view *found = NULL;

    pthread_mutex_lock(&memo->lock);
    for (unsigned i = 0; i < TFS_GODOT_MEMO_VIEWS && found == NULL; i++) {
        if (memo->views[i] != NULL && is_of(memo->views[i], chunk)) {
            found = view_ref(memo->views[i]);
            memo->used[i] = ++memo->clock;
        }
    }
    pthread_mutex_unlock(&memo->lock);
    return found;
}

static size_t weight(const struct tfs_godot_view *view)
{
    return tfs_blob_span(view->stored).size + tfs_blob_span(view->extra).size +
           tfs_blob_span(view->block.data).size;
}

/* The view longest not asked for, or an empty place; `full`: never an empty one. */
static unsigned memo_oldest(const struct tfs_godot_memo *memo, bool full)
{
    unsigned oldest = TFS_GODOT_MEMO_VIEWS;

    for (unsigned i = 0; i < TFS_GODOT_MEMO_VIEWS; i++) {
        if (memo->views[i] == NULL && full)
            continue;
        if (memo->views[i] == NULL)
            return i;
        if (oldest == TFS_GODOT_MEMO_VIEWS || memo->used[i] < memo->used[oldest])
            oldest = i;
    }
    return oldest;
}

static void memo_drop(struct tfs_godot_memo *memo, unsigned i)
{
    tfs_godot_view_unref(memo->views[i]);
    memo->views[i] = NULL;
}

static void memo_add(struct tfs_godot_memo *memo, struct tfs_godot_view *view)
{
    size_t total = 0;

    pthread_mutex_lock(&memo->lock);
    for (unsigned i = 0; i < TFS_GODOT_MEMO_VIEWS; i++)
        total += memo->views[i] != NULL ? weight(memo->views[i]) : 0;
    for (unsigned i; total + weight(view) > MEMO_BYTES && total > 0; memo_drop(memo, i)) {
        i = memo_oldest(memo, true);
        total -= weight(memo->views[i]);
    }
    unsigned place = memo_oldest(memo, false);
    memo_drop(memo, place);
    memo->views[place] = view_ref(view);
    memo->used[place] = ++memo->clock;
    pthread_mutex_unlock(&memo->lock);
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
    struct tfs_godot_view *found = memo_find(save->memo, chunk);
    if (found == NULL) {
        if (tfs_godot_view_make(save, doc, chunk, &found, err) < 0)
            return err->code;
        if (is_whole(found))
            memo_add(save->memo, found);
    }
    *view = found;
    return 0;
}

/* ---- the memory's life ----------------------------------------------------------------------- */

int tfs_godot_memo_create(struct tfs_save *save, struct tfs_error *err)
{
    struct tfs_godot_memo *memo = calloc(1, sizeof(*memo));

    if (memo == NULL)
        return tfs_fail_memory(err);
    pthread_mutex_init(&memo->lock, NULL);
    pthread_mutex_init(&memo->tally_lock, NULL);
    save->memo = memo;
    return 0;
}

void tfs_godot_memo_clear(struct tfs_save *save)
{
    struct tfs_godot_memo *memo = save->memo;

    pthread_mutex_lock(&memo->lock);
    for (unsigned i = 0; i < TFS_GODOT_MEMO_VIEWS; i++)
        memo_drop(memo, i);
    pthread_mutex_unlock(&memo->lock);
    tfs_godot_tally_clear(memo);
}

void tfs_godot_memo_free(struct tfs_save *save)
{
    struct tfs_godot_memo *memo = save->memo;

    if (memo == NULL)
        return;
    tfs_godot_memo_clear(save);
    pthread_mutex_destroy(&memo->lock);
    pthread_mutex_destroy(&memo->tally_lock);
    free(memo);
    save->memo = NULL;
}
