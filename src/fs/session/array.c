/*
 * Arrays that are open for writing. What is written to one belongs to the inode, because the kernel
 * sends pages of a mapping through any handle: it lies in pages over the document that the array
 * was opened in (sparse.h). Only values that differ from what that says, or from what was taken
 * last, are edits. Also the documents that arrays go on with which have another place or name now.
 *
 * Chunks that such a document leaves in the save are there until an edit takes their place. So each
 * of them is fetched before that edit is shown, and long before it is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/session/ops.h"

/* ---- life ------------------------------------------------------------------------------------ */

/* Pages over what `doc` shows. */
static int lay_pages(struct tfs_session *s, const struct tfs_node *node, struct tfs_doc *doc,
                     struct tfs_sparse **pages)
{
    struct tfs_save *save = tfs_ops_branch(s, node)->save;
    const struct tfs_lens *lens = tfs_node_file(save, node)->lens;
    const int64_t size = lens->size(save, doc, tfs_node_at(save, node));

    return size < 0 ? (int)size : tfs_sparse_create(doc, (uint64_t)size, pages);
}

int tfs_ops_open_array(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_open_array *array;

    if (inode->scratch != NULL || inode->array != NULL || !tfs_ops_is_array(s, &inode->node))
        return 0;
    array = calloc(1, sizeof(*array));
    if (array == NULL)
        return -ENOMEM;
    array->node = inode->node;
    if (inode->doc == NULL)
        tfs_ops_refresh(s, &array->node);
    struct tfs_doc *shown = tfs_store_shown(tfs_ops_branch(s, &array->node)->store);
    struct tfs_doc *doc = inode->doc != NULL ? inode->doc : shown;
    int result = lay_pages(s, &array->node, doc, &array->pages);
    if (result < 0) {
        free(array);
        return result;
    }
    inode->array = array;
    return 0;
}

/* May it have so many bytes? */
static bool has_room(struct tfs_session *s, const struct tfs_open_array *array, uint64_t size)
{
    struct tfs_save *save = tfs_ops_branch(s, &array->node)->save;

    return size <= array->pages->size || size <= TFS_TEXT_MORE ||
           size <= tfs_node_text_max(save, array->pages->base, &array->node);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void note_written(struct tfs_inode *inode)
{
    inode->array->state = TFS_DRAFT_DIRTY;
}

/* What a failed write says is there in part: every commit answers its error, until the array is cut
 * to 0. */
static int fail_write(struct tfs_inode *inode, int result, struct tfs_error *why)
{
    inode->array->failed = result;
    note_written(inode);
    if (result == -EFBIG)
        tfs_fail(why, result, "what is written lies behind the largest size of this file");
    else if (result == -ENOSPC || result == -EDQUOT)
        tfs_fail(why, result, "what is written has no room in $TMPDIR, /var/tmp or /tmp: %s",
                 strerror(-result));
    else
        tfs_fail(why, result,
                 "what is written cannot be put into a file in $TMPDIR, /var/tmp or /tmp: %s",
                 strerror(-result));
    return result;
}

/* Pages of which a part is written get the rest from what the array showed. */
static int fill_pages(struct tfs_session *s, struct tfs_need *need, struct tfs_open_array *array,
                      uint64_t offset, size_t size)
{
    const struct tfs_view base = tfs_ops_view_in(s, &array->node, array->pages->base);
    struct tfs_blob *shown;
    uint64_t page;
    int result = 0;

    while (result == 0 && tfs_sparse_lacks(array->pages, offset, size, &page)) {
        result = tfs_ops_range(need, &base, page, TFS_SPARSE_PAGE, &shown);
        if (result < 0)
            return result;
        result = tfs_sparse_fill(array->pages, page, tfs_blob_span(shown));
        tfs_blob_unref(shown);
    }
    return result;
}

int tfs_ops_write_array(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                        uint64_t offset, struct tfs_span bytes, struct tfs_error *why)
{
    struct tfs_open_array *array = inode->array;

    if (array->failed < 0)
        return array->failed;
    if (offset > UINT64_MAX / 2 || !has_room(s, array, offset + bytes.size))
        return fail_write(inode, -EFBIG, why);
    int result = fill_pages(s, need, array, offset, bytes.size);
    if (tfs_needs_more(result))
        return result;
    if (result == 0)
        result = tfs_sparse_write(array->pages, offset, bytes);
    if (result < 0)
        return fail_write(inode, result, why);
    note_written(inode);
    return 0;
}

int tfs_ops_resize_array(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    struct tfs_open_array *array = inode->array;

    if (size > 0 && array->failed < 0)
        return array->failed;
    if (!has_room(s, array, size))
        return -EFBIG;
    int result =
        size == 0 ? tfs_sparse_empty(&array->pages) : tfs_sparse_resize(array->pages, size);
    if (result < 0)
        return result;
    array->failed = 0;
    note_written(inode);
    return result;
}

/* ---- commit points --------------------------------------------------------------------------- */

/* What was refused goes to rejected/, where it is not too large for that. */
static void put_aside(struct tfs_session *s, const struct tfs_inode *inode,
                      const struct tfs_open_array *array)
{
    struct tfs_save *save = tfs_ops_branch(s, &array->node)->save;
    struct tfs_sparse *pages = array->pages;
    struct tfs_error ignored = {0};
    struct tfs_blob *text = NULL;

    if (pages->size <= TFS_DRAFT_KEPT_MAX)
        (void)tfs_sparse_text(pages, save, &array->node, &text, &ignored);
    const struct tfs_span kept = tfs_blob_span(text);
    pthread_mutex_lock(&s->lock);
    tfs_ops_put_aside(s, &inode->node, text != NULL ? &kept : NULL);
    pthread_mutex_unlock(&s->lock);
    tfs_blob_unref(text);
}

/* Has its chunk another key than in the document below the pages? */
static bool has_moved_away(const struct tfs_branch *branch, const struct tfs_node *node)
{
    struct tfs_key key = node->key;

    return node->scope == TFS_SCOPE_CHUNK && (!tfs_store_key(branch->store, node->slot, &key) ||
                                              tfs_key_compare(key, node->key) != 0);
}

/* Has an array of many chunks another place in the save than it had in that document? */
static bool has_other_bounds(const struct tfs_branch *branch, const struct tfs_open_array *array)
{
    const struct tfs_doc *docs[2] = {array->pages->base, tfs_store_shown(branch->store)};
    const struct tfs_at at = tfs_node_at(branch->save, &array->node);
    struct tfs_key low[2] = {{0}}, high[2] = {{0}};
    bool any[2];

    if (array->node.scope == TFS_SCOPE_CHUNK)
        return false;
    for (int i = 0; i < 2; i++)
        any[i] = tfs_doc_bounds(docs[i], at.key.group, &low[i], &high[i]);
    return any[0] != any[1] || tfs_key_compare(low[0], low[1]) != 0 ||
           tfs_key_compare(high[0], high[1]) != 0;
}

static int take_pages(struct tfs_work *work, const struct tfs_open_array *array, bool gone,
                      struct tfs_error *err)
{
    struct tfs_written written = tfs_sparse_written(array->pages);

    if (array->failed < 0)
        return tfs_fail(err, array->failed,
                        array->failed == -ESTALE
                            ? "what was written to this array is set aside: open it again"
                            : "a write to this file failed");
    if (gone)
        return tfs_fail(err, -ESTALE,
                        "this file was removed or replaced since it was opened: open it again");
    if (has_other_bounds(work->branch, array))
        return tfs_fail(err, -ESTALE,
                        "the bounds of the save have changed since this array was opened: open it "
                        "again");
    if (array->pages->base_size > 0 && has_moved_away(work->branch, &array->node))
        return tfs_fail(err, -ESTALE, "the chunk was moved since this array was opened");
    work->written = &written;
    int result = tfs_ops_validate(work, &work->inode->node, (struct tfs_span){0}, err);
    work->written = NULL;
    return result;
}

/* Pages that were cut to 0 meanwhile are others, which nobody has looked at. */
static void take_answer(const struct tfs_work *work, struct tfs_sparse *pages, int result)
{
    struct tfs_open_array *array = work->inode->array;
    struct tfs_session *s = work->branch->session;

    pages->busy = false;
    if (array->pages != pages)
        return;
    array->state = result < 0 ? TFS_DRAFT_REFUSED : TFS_DRAFT_CLEAN;
    if (result < 0)
        return;
    tfs_sparse_accept(pages);
    tfs_views_bump(&s->views, tfs_node_id(&work->inode->node));
}

int tfs_ops_commit_array(struct tfs_work *work, bool released)
{
    struct tfs_session *s = work->branch->session;
    struct tfs_inode *inode = work->inode;
    struct tfs_error err = {0};

    pthread_mutex_lock(&s->lock);
    struct tfs_open_array *array = inode->array;
    const bool gone = tfs_inode_is_gone(inode);
    /* Who has opened it since has begun what only his own close may end. */
    const bool any = array != NULL && array->state != TFS_DRAFT_CLEAN &&
                     !(released && tfs_inode_has_writer(inode));
    const struct tfs_open_array now = array != NULL ? *array : (struct tfs_open_array){0};
    if (any)
        tfs_sparse_ref(now.pages)->busy = true;
    pthread_mutex_unlock(&s->lock);
    if (!any)
        return 0;
    int result = take_pages(work, &now, gone, &err);
    const bool tell = result < 0 && now.state == TFS_DRAFT_DIRTY;
    if (tell && now.pages->size > 0)
        put_aside(s, inode, &now);
    pthread_mutex_lock(&s->lock);
    take_answer(work, now.pages, result);
    if (result == 0 && work->job.edited)
        tfs_ops_drop_rejected(s, &inode->node);
    pthread_cond_broadcast(&s->answered);
    pthread_mutex_unlock(&s->lock);
    tfs_sparse_unref(now.pages);
    if (tell)
        tfs_ops_log_node(s, &err, &inode->node);
    return result;
}

/* ---- documents of before --------------------------------------------------------------------- */

/* An edit that is about to be shown, and a document of before. */
struct passing {
    struct tfs_save *save;
    const struct tfs_doc *past;
    struct tfs_edit edit; /* of `past` */
    struct tfs_error *err;
};

/* The chunk of `past` whose bytes are those of `before` in the save; NULL: it is none. */
static const struct tfs_chunk *find_unread(const struct tfs_doc *past,
                                           const struct tfs_chunk *before)
{
    const struct tfs_chunk *chunk = before != NULL ? tfs_doc_find(past, before->key) : NULL;

    return chunk != NULL && (chunk->flags & TFS_CHUNK_UNREAD_ALL) != 0 &&
                   tfs_chunk_is(chunk, before)
               ? chunk
               : NULL;
}

static int is_replaced(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    (void)after;
    return find_unread(arg, before) != NULL;
}

static int keep_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct passing *p = arg;
    const struct tfs_chunk *chunk = find_unread(p->past, before);

    (void)after;
    if (chunk == NULL)
        return 0;
    struct tfs_chunk copy = *chunk;
    tfs_blob_ref(copy.blob);
    tfs_blob_ref(copy.extra);
    if (tfs_chunks_fetch(p->save, &copy, 1, p->err) == 1)
        tfs_edit_put(&p->edit, &copy, p->err);
    tfs_blob_unref(copy.blob);
    tfs_blob_unref(copy.extra);
    return p->err->code;
}

/* The same document with the bytes that the edit from `before` to `after` takes from the save;
 * NULL: they cannot be had. */
static struct tfs_doc *keep_bytes(struct tfs_save *save, struct tfs_doc *past,
                                  const struct tfs_publication *change)
{
    struct tfs_error err = {0};
    struct passing p = {.save = save, .past = past, .err = &err};
    struct tfs_doc *kept = NULL;

    if (tfs_edit_open(past, &p.edit, &err) < 0)
        return NULL;
    if (tfs_doc_diff(change->before, change->after, keep_chunk, &p) == 0)
        kept = tfs_edit_finish(&p.edit);
    tfs_edit_release(&p.edit);
    return kept;
}

static bool loses(const struct tfs_publication *change, struct tfs_doc *past)
{
    return past != NULL && tfs_doc_diff(change->before, change->after, is_replaced, past) != 0;
}

/* A document that an open file goes on with and that loses bytes; NULL: there is none. */
static struct tfs_doc *find_loser_of(const struct tfs_inode *inode,
                                     const struct tfs_publication *change)
{
    if (loses(change, inode->doc))
        return inode->doc;
    if (inode->array != NULL && inode->array->pages->base_size > 0 &&
        loses(change, inode->array->pages->base))
        return inode->array->pages->base;
    for (const struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
        if (h->draft != NULL && loses(change, h->draft->doc))
            return h->draft->doc;
    return NULL;
}

static struct tfs_doc *find_loser(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_doc *loser = NULL;
    struct tfs_map_cell cell;

    if (change->reread || !loses(change, change->before))
        return NULL;
    for (size_t at = 0; loser == NULL && tfs_map_next(&branch->session->inodes.open, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (inode->scratch == NULL && inode->node.store == branch->number)
            loser = find_loser_of(inode, change);
    }
    return loser;
}

static void replace(struct tfs_doc **doc, const struct tfs_doc *past, struct tfs_doc *kept)
{
    if (*doc != past)
        return;
    tfs_doc_unref(*doc);
    *doc = tfs_doc_ref(kept);
}

static void replace_past(struct tfs_session *s, const struct tfs_doc *past, struct tfs_doc *kept)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->inodes.open, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        replace(&inode->doc, past, kept);
        if (inode->array != NULL)
            replace(&inode->array->pages->base, past, kept);
        for (struct tfs_handle *h = inode->handles; h != NULL; h = h->next)
            if (h->draft != NULL)
                replace(&h->draft->doc, past, kept);
    }
}

bool tfs_ops_past_loses(struct tfs_branch *branch, const struct tfs_publication *change)
{
    return find_loser(branch, change) != NULL;
}

bool tfs_ops_keep_past(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_session *s = branch->session;

    pthread_mutex_lock(&s->lock);
    struct tfs_doc *past = tfs_doc_ref(find_loser(branch, change));
    pthread_mutex_unlock(&s->lock);
    if (past == NULL)
        return true;
    struct tfs_doc *kept = keep_bytes(branch->save, past, change);
    pthread_mutex_lock(&s->lock);
    if (kept != NULL)
        replace_past(s, past, kept);
    pthread_mutex_unlock(&s->lock);
    tfs_doc_unref(past);
    tfs_doc_unref(kept);
    return kept != NULL;
}

/* ---- files whose name goes ------------------------------------------------------------------- */

void tfs_ops_leave(struct tfs_session *s, const struct tfs_node *node, struct tfs_doc *doc)
{
    const uint64_t id = tfs_node_id(node);
    struct tfs_inode *inode;

    for (size_t at = 0; (inode = tfs_inode_next_open(&s->inodes, id, &at)) != NULL;) {
        if (inode->doc == NULL)
            inode->node.key = node->key;
        tfs_inode_leave(&s->inodes, inode, doc);
    }
}
