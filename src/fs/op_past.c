/*
 * Documents of before, which open files go on with: what the first writer of an array saw.
 *
 * Chunks that such a document leaves in the save are there until an edit takes their place. So each
 * of them is fetched before that edit is shown, and long before it is written.
 */
#include "fs/ops.h"

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

/* A document that an open file goes on with and that loses bytes; NULL: there is none. */
static struct tfs_doc *find_loser(struct tfs_branch *branch, const struct tfs_publication *change)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&branch->session->inodes.inodes, &at, &cell);) {
        const struct tfs_inode *inode = cell.value;
        if (inode->began != NULL && inode->node.store == branch->number &&
            tfs_doc_diff(change->before, change->after, is_replaced, inode->began) != 0)
            return inode->began;
    }
    return NULL;
}

static void replace_past(struct tfs_branch *branch, const struct tfs_doc *past,
                         struct tfs_doc *kept)
{
    struct tfs_map_cell cell;

    for (size_t at = 0; tfs_map_next(&branch->session->inodes.inodes, &at, &cell);) {
        struct tfs_inode *inode = cell.value;
        if (inode->began != past || inode->node.store != branch->number)
            continue;
        tfs_doc_ref(kept);
        tfs_doc_unref(inode->began);
        inode->began = kept;
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
            replace_past(branch, past, kept);
        pthread_mutex_unlock(&s->lock);
        tfs_doc_unref(past);
        tfs_doc_unref(kept);
    } while (kept != NULL);
}
