/*
 * Files that are opened and written: see op_file.h.
 */
#include "fs/session/op_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    int result = inode != NULL && inode->past_why != NULL ? -ESTALE : tfs_ops_node(s, id, &node);
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

/* A draft is in memory: can what the file shows be? */
static int check_whole(struct tfs_session *s, const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    struct tfs_view view = {branch->save, tfs_store_shown(branch->store), *node, tfs_node_id(node),
                            0};
    uint64_t size;

    return tfs_views_in_ranges(&s->views, &view) && tfs_views_size(&s->views, &view, &size) == 0 &&
                   size > TFS_DRAFT_WHOLE_MAX
               ? -EFBIG
               : 0;
}

/* Which text the draft begins with: the last one that the kernel has pages of, where both say the
 * same. */
static uint64_t text_of(const struct tfs_inode *inode, const struct tfs_blob *content)
{
    const bool same = inode->changes > inode->dropped && inode->said_at == inode->dropped + 1 &&
                      content != NULL &&
                      tfs_hash_equal(inode->said, tfs_hash_of(tfs_blob_span(content)));

    return same ? inode->dropped : inode->changes;
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
    int result = empty ? 0 : check_whole(s, &node);
    if (result == 0 && !empty)
        result = tfs_ops_bytes(s, need, &node, &content, &stamp);
    if (result < 0)
        return result;
    inode->draft = tfs_draft_create(tfs_blob_span(content));
    if (inode->draft != NULL) {
        inode->draft->ordered = inode->draft->bytes.size == 0;
        inode->draft->changes = text_of(inode, content);
    }
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
        bool grows = size > tfs_draft_size(inode->draft);
        if (grows && size > TFS_DRAFT_MAX && size > draft_limit(s, inode))
            return -EFBIG;
        return tfs_draft_resize(inode->draft, size);
    }
    /* A removed file that is still open does not count as scratch, nor do rejected bytes. */
    if ((scratch->flags & TFS_SCRATCH_UNCAPPED) != 0 && size > scratch->bytes.size &&
        size > TFS_DRAFT_MAX)
        return -EFBIG;
    return tfs_scratch_resize(&s->overlay, scratch, size);
}

void tfs_file_spill(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    if (inode->draft == NULL || inode->draft->sparse != NULL || size < TFS_DRAFT_LARGE)
        return;
    const struct tfs_save *save = tfs_ops_branch(s, &inode->node)->save;
    if ((tfs_node_file(save, &inode->node)->flags & TFS_FILE_LARGE) != 0)
        tfs_draft_spill(inode->draft);
}

void tfs_file_wrote(struct tfs_session *s, struct tfs_inode *inode, bool emptied)
{
    if (inode->scratch == NULL) {
        (void)tfs_draft_take(inode->draft, emptied ? TFS_DRAFT_EMPTY : TFS_DRAFT_WRITE);
        tfs_views_bump(&s->views, tfs_node_id(&inode->node));
    } else {
        inode->scratch->mtime = inode->scratch->ctime = tfs_views_now(&s->views);
    }
}

int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                      uint64_t size)
{
    int result = tfs_ops_open_array(s, inode); /* it may have got the name since */

    if (result < 0 || inode->array != NULL)
        return result < 0 ? result : tfs_ops_resize_array(s, need, inode, size);
    if (size > 0 && tfs_ops_await_answer(need, inode) < 0)
        return TFS_NEEDS_ANSWER;
    result = tfs_file_begin_draft(s, need, inode, size == 0);
    struct tfs_draft *draft = inode->draft;
    if (result == 0 && size == 0)
        tfs_ops_leave_outdated(s, inode);
    if (result == 0 && size == 0 && draft != NULL && draft->sparse != NULL)
        result = tfs_sparse_empty(&draft->sparse);
    if (result == 0 && size > 0 && draft != NULL && draft->state == TFS_DRAFT_POISONED)
        return -EBADMSG;
    if (result == 0)
        result = tfs_file_resize(s, inode, size);
    if (result == -ENOSPC && size > 0)
        return tfs_ops_await_room(need, inode);
    if (result < 0 && result > TFS_NEEDS_BYTES)
        tfs_ops_end_clean(s, inode, false);
    if (result == 0)
        tfs_file_wrote(s, inode, size == 0);
    if (result == 0 && draft != NULL)
        draft->ordered = size == 0;
    return result;
}

/* ---- looking at what is written -------------------------------------------------------------- */

#define SCAN_MAX  ((size_t)1 << 20)   /* texts that are longer are not looked at before their end */
#define SCAN_WORK ((uint64_t)1 << 24) /* nor are those that come in too many writes */

static bool is_text(const char *path)
{
    size_t length = strlen(path);

    return length > 4 &&
           (strcmp(path + length - 4, ".csv") == 0 || strcmp(path + length - 4, ".txt") == 0);
}

void tfs_scan_begin(struct tfs_session *s, struct tfs_inode *inode, struct tfs_scan *scan)
{
    struct tfs_draft *draft = inode->draft;
    struct tfs_error ignored = {0};

    if (inode->scratch != NULL || draft == NULL || !draft->ordered ||
        draft->state != TFS_DRAFT_WRITTEN || inode->node.scope != TFS_SCOPE_CHUNK ||
        draft->bytes.size > SCAN_MAX || draft->scanned > SCAN_WORK ||
        tfs_names_is_new(&s->names, &inode->node))
        return;
    scan->node = inode->node;
    tfs_ops_refresh(s, &scan->node);
    const struct tfs_branch *branch = tfs_ops_branch(s, &scan->node);
    if (!is_text(tfs_node_file(branch->save, &scan->node)->path))
        return;
    const uint8_t *end = memrchr(draft->bytes.data, '\n', draft->bytes.size);
    if (end == NULL)
        return;
    size_t size = (size_t)(end + 1 - draft->bytes.data);
    if (tfs_blob_copy((struct tfs_span){draft->bytes.data, size}, &scan->text, &ignored) < 0)
        return;
    scan->doc = tfs_doc_ref(tfs_store_shown(branch->store));
    scan->whole = size == draft->bytes.size;
    draft->scanned += size;
}

static uint32_t count_lines(struct tfs_span text)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    uint32_t lines = 0;

    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        lines++;
    return lines;
}

/* Puts the text onto an edit of the document that was shown. */
static int put_text(struct tfs_session *s, const struct tfs_scan *scan, struct tfs_span text,
                    struct tfs_edit *edit, struct tfs_error *why)
{
    struct tfs_put put = {0};
    int result = tfs_edit_open(scan->doc, edit, why);

    return result < 0 ? result
                      : tfs_node_put(tfs_ops_branch(s, &scan->node)->save, edit, &scan->node, text,
                                     &put, why);
}

/* NULL: it is not accepted as it is, or there is no memory. */
static struct tfs_prepared *prepare(struct tfs_session *s, const struct tfs_scan *scan)
{
    struct tfs_prepared *prepared = calloc(1, sizeof(*prepared));
    struct tfs_error ignored = {0};

    if (prepared == NULL)
        return NULL;
    prepared->file = tfs_node_id(&scan->node);
    prepared->text = tfs_blob_ref(scan->text);
    if (put_text(s, scan, tfs_blob_span(scan->text), &prepared->edit, &ignored) == 0)
        return prepared;
    tfs_prepared_free(prepared);
    return NULL;
}

static void keep_prepared(struct tfs_session *s, struct tfs_inode *inode,
                          struct tfs_prepared *prepared)
{
    pthread_mutex_lock(&s->lock);
    if (inode->draft != NULL) {
        struct tfs_prepared *older = inode->draft->prepared;
        inode->draft->prepared = prepared;
        prepared = older;
    }
    pthread_mutex_unlock(&s->lock);
    tfs_prepared_free(prepared);
}

/* Puts the lines and one more, which no text of any file may have, onto an edit that nobody will
 * see. What is wrong with an earlier line is wrong whatever follows; what is said of the last one
 * may be because more is to come. */
static int look(struct tfs_session *s, const struct tfs_scan *scan, struct tfs_error *why)
{
    static const char no_line[] = "\x01\n";
    struct tfs_span lines = tfs_blob_span(scan->text);
    struct tfs_buf text = {0};
    struct tfs_edit edit = {0};

    tfs_buf_add_span(&text, lines);
    tfs_buf_add_text(&text, no_line);
    if (!text.failed)
        (void)put_text(s, scan, tfs_buf_span(&text), &edit, why);
    tfs_edit_release(&edit);
    tfs_buf_release(&text);
    bool refused = why->code == -EBADMSG && why->line > 0 && why->line <= count_lines(lines);
    return refused ? -EBADMSG : 0;
}

int tfs_scan_end(struct tfs_session *s, struct tfs_inode *inode, struct tfs_scan *scan)
{
    struct tfs_prepared *prepared = scan->whole ? prepare(s, scan) : NULL;
    struct tfs_error why = {0};
    int result = 0;

    if (prepared != NULL)
        keep_prepared(s, inode, prepared);
    else if (scan->text != NULL)
        result = look(s, scan, &why);
    if (result < 0)
        tfs_ops_poison(s, inode, scan->text, &why);
    tfs_blob_unref(scan->text);
    tfs_doc_unref(scan->doc);
    return result;
}
