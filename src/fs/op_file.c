/*
 * Files that are opened and written: see op_file.h.
 */
#include "fs/op_file.h"

#include <errno.h>

int tfs_file_for_open(struct tfs_session *s, uint64_t id, bool write, struct tfs_inode **out)
{
    struct tfs_node node;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);

    if (inode != NULL && inode->scratch != NULL) {
        const struct tfs_scratch *scratch = inode->scratch;
        if (scratch->kind == TFS_SCRATCH_DIRECTORY)
            return -EISDIR;
        /* Its name went to another file between the caller's lookup and this. */
        if (scratch->link == NULL && inode->handles == 0 &&
            (scratch->flags & TFS_SCRATCH_REPLACED) == 0)
            return -ESTALE;
        if (write && (scratch->flags & TFS_SCRATCH_CONTROL) != 0)
            return -EACCES;
        *out = inode;
        return 0;
    }
    int result = tfs_ops_node(s, id, &node);
    if (result < 0)
        return result;
    if (tfs_node_is_directory(&node))
        return -EISDIR;
    result = tfs_ops_check_visible(s, &node);
    if (result < 0)
        return result;
    if (write && tfs_ops_read_only(s, &node))
        return -EROFS;
    if (write && !tfs_ops_writable(s, &node))
        return -EACCES;
    *out = tfs_inode_make(&s->inodes, &node);
    return *out != NULL ? 0 : -ENOMEM;
}

int tfs_file_begin_draft(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                         bool empty)
{
    struct tfs_blob *content = NULL;
    uint64_t stamp;

    if (inode->scratch != NULL || inode->draft != NULL)
        return 0;
    struct tfs_node node = inode->node;
    tfs_ops_refresh(s, &node);
    int result = empty ? 0 : tfs_ops_bytes(s, need, &node, &content, &stamp);
    if (result < 0)
        return result;
    inode->draft = tfs_draft_create(tfs_blob_span(content));
    tfs_blob_unref(content);
    return inode->draft != NULL ? 0 : -ENOMEM;
}

static uint64_t draft_limit(struct tfs_session *s, const struct tfs_inode *inode)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, &inode->node);
    const struct tfs_doc *doc = tfs_store_shown(branch->store);
    const struct tfs_lens *lens = tfs_node_file(branch->save, &inode->node)->lens;
    struct tfs_node node = inode->node;
    int64_t size = -1;

    tfs_ops_refresh(s, &node);
    /* Its chunk may have gone with a reload. */
    if (lens->size != NULL && tfs_node_exists(branch->save, doc, &node) == 1)
        size = lens->size(branch->save, doc, tfs_node_at(branch->save, &node));
    return TFS_DRAFT_MAX + (size > 0 ? 4 * (uint64_t)size : 0);
}

int tfs_file_resize(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    struct tfs_scratch *scratch = inode->scratch;

    if (scratch == NULL) {
        bool grows = size > inode->draft->bytes.size;
        if (grows && size > TFS_DRAFT_MAX && size > draft_limit(s, inode))
            return -EFBIG;
        return tfs_bytes_resize(&inode->draft->bytes, (size_t)size);
    }
    /* A removed file that is still open does not count as scratch, nor do rejected bytes. */
    if ((scratch->flags & TFS_SCRATCH_UNCAPPED) != 0 && size > scratch->bytes.size &&
        size > TFS_DRAFT_MAX)
        return -EFBIG;
    return tfs_scratch_resize(&s->overlay, scratch, size);
}

void tfs_file_wrote(struct tfs_session *s, struct tfs_inode *inode)
{
    if (inode->scratch == NULL) {
        (void)tfs_draft_take(inode->draft, TFS_DRAFT_WRITE);
        tfs_views_bump(&s->views, tfs_node_id(&inode->node));
        tfs_fresh_touch(&s->overlay, &inode->node);
    } else {
        inode->scratch->mtime = inode->scratch->ctime = tfs_views_now(&s->views);
    }
}

int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                      uint64_t size)
{
    int result = tfs_file_begin_draft(s, need, inode, size == 0);

    if (result == 0)
        result = tfs_file_resize(s, inode, size);
    if (result == 0)
        tfs_file_wrote(s, inode);
    return result;
}
