/*
 * Documents of before, which open files go on with: what the first writer of an array saw, and what
 * an array was before it got another place in the save or its name went to another file.
 *
 * Chunks that such a document leaves in the save are there until an edit takes their place. So each
 * of them is fetched before that edit is shown, and long before it is written.
 */
#include "fs/session/ops.h"

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
static struct tfs_doc *find_loser(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&branch->session->inodes.inodes, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (inode->scratch != NULL || inode->node.store != branch->number)
            continue;
        if (loses(change, inode->began))
            return inode->began;
        if (inode->pages != inode->began && loses(change, inode->pages))
            return inode->pages;
        if (inode->past != inode->began && loses(change, inode->past))
            return inode->past;
        if (inode->draft != NULL && inode->draft->sparse != NULL &&
            loses(change, inode->draft->sparse->base))
            return inode->draft->sparse->base;
    }
    return NULL;
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

    for (size_t at = 0; tfs_map_next(&s->inodes.inodes, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        replace(&inode->began, past, kept);
        replace(&inode->pages, past, kept);
        replace(&inode->past, past, kept);
        if (inode->draft != NULL && inode->draft->sparse != NULL)
            replace(&inode->draft->sparse->base, past, kept);
    }
}

void tfs_ops_keep_past(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_session *s = branch->session;
    struct tfs_doc *past, *kept = NULL;

    do {
        pthread_mutex_lock(&s->lock);
        past = tfs_doc_ref(find_loser(branch, change));
        pthread_mutex_unlock(&s->lock);
        if (past == NULL)
            return;
        kept = keep_bytes(branch->save, past, change);
        pthread_mutex_lock(&s->lock);
        if (kept != NULL)
            replace_past(s, past, kept);
        pthread_mutex_unlock(&s->lock);
        tfs_doc_unref(past);
        tfs_doc_unref(kept);
    } while (kept != NULL);
}

/* ---- files that are others now --------------------------------------------------------------- */

void tfs_ops_leave(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_doc *shown = tfs_store_shown(tfs_ops_branch(s, &inode->node)->store);

    tfs_inode_leave(&s->inodes, inode, shown,
                    "this file was removed or replaced since it was opened: open it again");
    pthread_cond_broadcast(&s->closed);
}

/* Has the array that both documents have another place in the save? */
static bool has_moved(const struct tfs_branch *branch, const struct tfs_node *node,
                      const struct tfs_publication *change)
{
    const struct tfs_lens *lens = tfs_node_file(branch->save, node)->lens;
    const struct tfs_at at = tfs_node_at(branch->save, node);
    struct tfs_key low[2] = {{0}}, high[2] = {{0}};
    bool any[2] = {tfs_doc_bounds(change->before, at.key.group, &low[0], &high[0]),
                   tfs_doc_bounds(change->after, at.key.group, &low[1], &high[1])};

    return any[0] != any[1] || tfs_key_compare(low[0], low[1]) != 0 ||
           tfs_key_compare(high[0], high[1]) != 0 ||
           lens->size(branch->save, change->before, at) !=
               lens->size(branch->save, change->after, at);
}

void tfs_ops_leave_bounds(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_session *s = branch->session;
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&s->inodes.inodes, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        const struct tfs_node *node = &inode->node;
        if (inode->scratch != NULL || inode->past_why != NULL || inode->handles == 0 ||
            node->store != branch->number || node->file < 0 || !tfs_ops_has_past(s, node) ||
            !has_moved(branch, node, change) || tfs_inode_reserve(&s->inodes) < 0)
            continue;
        tfs_inode_leave(&s->inodes, inode, change->before,
                        "the bounds of the save have changed since this array was opened: open it "
                        "again");
        /* What the kernel knows of the name is the other file's. */
        struct tfs_node dir = tfs_ops_parent(s, node);
        tfs_notify_stale(s->notify, tfs_node_id(&dir));
    }
}
