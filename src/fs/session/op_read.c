/*
 * Reading: what is saved, what a draft or the pages of an array say, what a file was in another
 * document.
 */
#include <errno.h>

#include "fs/session/ops.h"

/* ---- read ------------------------------------------------------------------------------------ */

static struct tfs_span cut(struct tfs_span bytes, uint64_t offset, size_t size)
{
    if (offset >= bytes.size)
        return (struct tfs_span){0};
    size_t left = bytes.size - (size_t)offset;
    return (struct tfs_span){bytes.data + offset, size < left ? size : left};
}

struct reading {
    uint64_t id;
    struct tfs_handle *handle; /* may be NULL */
    uint64_t offset;
    size_t size;
    struct tfs_blob **hold;
    struct tfs_span *bytes;
};

/* Rendered content, which the handle holds on to for the next piece. */
static int read_saved(struct tfs_session *s, const struct reading *r, struct tfs_need *need,
                      const struct tfs_node *node)
{
    struct tfs_handle *handle = r->handle;
    uint64_t stamp;

    if (handle != NULL && handle->blob != NULL &&
        handle->stamp == tfs_views_stamp(&s->views, tfs_node_id(node)) &&
        tfs_store_broken(tfs_ops_branch(s, node)->store) == 0) {
        *r->hold = tfs_blob_ref(handle->blob);
        return 0;
    }
    int result = tfs_ops_bytes(s, need, node, r->hold, &stamp);
    if (result == 0 && handle != NULL) {
        tfs_blob_unref(handle->blob);
        handle->blob = tfs_blob_ref(*r->hold);
        handle->stamp = stamp;
    }
    return result;
}

/* Copied: these bytes may be written to at any moment. */
static int read_written(const struct reading *r, const struct tfs_buf *bytes)
{
    struct tfs_error err = {0};
    int result = tfs_blob_copy(cut(tfs_buf_span(bytes), r->offset, r->size), r->hold, &err);

    if (result == 0)
        *r->bytes = tfs_blob_span(*r->hold);
    return result;
}

/* What was written over what the file shows. */
static int read_pages(struct tfs_session *s, const struct reading *r, struct tfs_need *need,
                      const struct tfs_node *node, const struct tfs_sparse *pages)
{
    const uint64_t left = r->offset < pages->size ? pages->size - r->offset : 0;
    const size_t size = r->size < left ? r->size : (size_t)left;
    struct tfs_blob *shown = NULL;
    struct tfs_error err = {0};
    struct tfs_buf bytes = {0};
    int result = 0;

    if (size > 0 && !tfs_sparse_holds(pages, r->offset, size))
        result = tfs_ops_range_of(s, need, node, pages->base, r->offset, size, &shown);
    if (result < 0)
        return result;
    tfs_buf_add_span(&bytes, tfs_blob_span(shown));
    tfs_blob_unref(shown);
    tfs_buf_resize(&bytes, size);
    result = tfs_buf_check(&bytes, &err);
    if (result == 0)
        result = tfs_sparse_read(pages, r->offset, size, bytes.data);
    if (result == 0)
        result = tfs_blob_take(&bytes, r->hold, &err);
    tfs_buf_release(&bytes);
    if (result == 0)
        *r->bytes = tfs_blob_span(*r->hold);
    return result;
}

/* What the pages say that the kernel has of it: they are none of a later text. */
static void note_said(struct tfs_inode *inode, const struct tfs_blob *text)
{
    if (inode->writers == 0)
        return;
    if (inode->dropped != inode->changes) {
        inode->said_at = 0;
    } else if (inode->said_at != inode->changes + 1) {
        inode->said = tfs_hash_of(tfs_blob_span(text));
        inode->said_at = inode->changes + 1;
    }
}

/* The node of a file that is no scratch file. `inode`: NULL where it has none. */
static int find_node(struct tfs_session *s, uint64_t id, const struct tfs_inode *inode,
                     struct tfs_node *node)
{
    if (inode != NULL) {
        *node = inode->node;
        tfs_ops_refresh(s, node);
        return 0;
    }
    const int result = tfs_ops_node(s, id, node);
    return result == 0 && tfs_node_is_directory(node) ? -EISDIR : result;
}

/* A range that the file shows without a draft: as tfs_ops_range. */
static int find_range(struct tfs_session *s, struct tfs_need *need, const struct tfs_inode *inode,
                      const struct tfs_node *node, uint64_t offset, size_t size,
                      struct tfs_blob **hold)
{
    if (inode != NULL && inode->past != NULL && size > 0)
        return tfs_ops_range_of(s, need, node, inode->past, offset, size, hold);
    return tfs_ops_range(s, need, node, offset, size, hold);
}

static int try_read(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct reading *r = call;
    struct tfs_inode *inode =
        r->handle != NULL ? r->handle->inode : tfs_inode_find(&s->inodes, r->id);
    struct tfs_node node;

    if (inode != NULL && inode->scratch != NULL)
        return read_written(r, &inode->scratch->bytes);
    if (inode != NULL && inode->draft != NULL && inode->draft->sparse != NULL)
        return read_pages(s, r, need, &inode->node, inode->draft->sparse);
    if (inode != NULL && inode->draft != NULL)
        return read_written(r, &inode->draft->bytes);
    if (inode != NULL && inode->array != NULL && tfs_sparse_is_written(inode->array->pages))
        return read_pages(s, r, need, &inode->array->node, inode->array->pages);
    int result = find_node(s, r->id, inode, &node);
    if (result < 0)
        return result;
    result = find_range(s, need, inode, &node, r->offset, r->size, r->hold);
    if (result == 1)
        *r->bytes = tfs_blob_span(*r->hold);
    if (result != 0)
        return result < 0 ? result : 0;
    result = read_saved(s, r, need, &node);
    if (result == 0 && inode != NULL)
        note_said(inode, *r->hold);
    if (result == 0)
        *r->bytes = cut(tfs_blob_span(*r->hold), r->offset, r->size);
    return result;
}

int tfs_session_read(struct tfs_session *s, uint64_t id, struct tfs_handle *handle, uint64_t offset,
                     size_t size, struct tfs_blob **hold, struct tfs_span *bytes)
{
    struct reading r = {id, handle, offset, size, hold, bytes};

    return tfs_ops_run_as_read(s, try_read, &r);
}

/* Names a range that the file shows without a draft, as one to be rendered. With the lock. */
static void name_range(struct tfs_session *s, struct tfs_need *need, uint64_t id, uint64_t offset,
                       size_t size)
{
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);
    struct tfs_blob *none = NULL;
    struct tfs_node node;

    if (inode != NULL && (inode->scratch != NULL || inode->draft != NULL || inode->array != NULL))
        return;
    if (find_node(s, id, inode, &node) == 0)
        find_range(s, need, inode, &node, offset, size, &none);
}

void tfs_session_read_ahead(struct tfs_session *s, uint64_t id, uint64_t offset, size_t size)
{
    struct tfs_need need = {0};

    pthread_mutex_lock(&s->lock);
    name_range(s, &need, id, offset, size);
    pthread_mutex_unlock(&s->lock);
    const struct tfs_view *view = &need.view;
    if (view->doc == NULL)
        return;
    const struct tfs_lens *lens = tfs_node_file(view->save, &view->node)->lens;
    if (lens->read_ahead != NULL && tfs_node_exists(view->save, view->doc, &view->node) > 0)
        lens->read_ahead(view->save, view->doc, tfs_node_at(view->save, &view->node), offset, size);
    tfs_doc_unref(view->doc);
}
