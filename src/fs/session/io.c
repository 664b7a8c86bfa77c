/*
 * Bytes of open files. What is written to a text or picture is in the draft of its handle until a
 * commit point takes it (commit.c), and only this handle reads it; who reads without an owner
 * reads for a cache that all share, and gets what is accepted. What is written to a scratch file or
 * an array is there at once.
 *
 * Also: what O_APPEND adds to a table is looked at when it is written, for shells listen to
 * write(2) and not to close(2).
 */
#include <errno.h>
#include <string.h>

#include "fs/session/ops.h"

/* ---- which file ------------------------------------------------------------------------------ */

int tfs_file_check(struct tfs_session *s, const struct tfs_node *node, bool write)
{
    if (tfs_node_is_directory(node))
        return -EISDIR;
    int result = tfs_ops_check_visible(s, node);
    if (result == 0 && write && tfs_ops_read_only(s, node))
        result = -EROFS;
    if (result == 0 && write && !tfs_ops_writable(s, node))
        result = -EACCES;
    return result;
}

/* A name that has no accepted text yet has one id for all. An id that was given to one LOOKUP alone
 * has a document before anybody opens it. */
static bool may_share(struct tfs_session *s, const struct tfs_inode *inode, bool write)
{
    const bool alone = inode->doc != NULL && inode->handles == NULL;

    if (write && tfs_inode_has_reader(inode))
        return false;
    if (inode->stamp == TFS_STAMP_TAKEN)
        return write || tfs_inode_unborn(&s->inodes, &inode->node) != NULL;
    return alone || inode->stamp == tfs_views_stamp(&s->views, tfs_node_id(&inode->node));
}

static int open_scratch(struct tfs_inode *inode, bool write)
{
    const struct tfs_scratch *scratch = inode->scratch;

    if (scratch->kind == TFS_SCRATCH_DIRECTORY)
        return -EISDIR;
    /* Its name went to another file between the caller's lookup and this. */
    if (scratch->link == NULL && inode->handles == NULL)
        return -ESTALE;
    return write && (scratch->flags & TFS_SCRATCH_CONTROL) != 0 ? -EACCES : 0;
}

int tfs_file_for_open(struct tfs_session *s, uint64_t id, bool write, struct tfs_inode **out)
{
    struct tfs_node node;
    struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);

    if (inode != NULL && inode->scratch != NULL) {
        *out = inode;
        return open_scratch(inode, write);
    }
    int result = tfs_ops_node(s, id, &node);
    if (result == 0)
        result = tfs_file_check(s, &node, write);
    if (result < 0)
        return result;
    if (inode == NULL)
        inode = tfs_inode_make_computed(&s->inodes, &node);
    if (inode == NULL)
        return -ENOMEM;
    *out = inode;
    if (may_share(s, inode, write))
        return 0;
    tfs_views_meet(&s->views, tfs_node_id(&node));
    return -ESTALE;
}

void tfs_file_take(struct tfs_session *s, struct tfs_inode *inode)
{
    if (inode->scratch != NULL || inode->stamp == TFS_STAMP_TAKEN)
        return;
    /* A computed id has no record once it is closed: its file must not have it again. */
    if (inode->id < TFS_ID_TABLE)
        tfs_views_restamp(&s->views, inode->id);
    tfs_inode_take(&s->inodes, inode);
}

/* ---- a draft begins -------------------------------------------------------------------------- */

/* The handle has a draft from now on, of what the file shows. */
static int begin_draft(struct tfs_session *s, struct tfs_need *need, struct tfs_handle *handle)
{
    const struct tfs_inode *inode = handle->inode;
    const bool unborn = inode->doc == NULL && tfs_inode_unborn(&s->inodes, &inode->node) != NULL;
    const struct tfs_view view = tfs_ops_view_of(s, inode);
    struct tfs_blob *content = NULL;

    if (handle->draft != NULL)
        return 0;
    const int result = unborn ? 0 : tfs_ops_bytes(s, need, &view, &content);
    if (result < 0)
        return result;
    struct tfs_draft *draft = tfs_draft_create(tfs_blob_span(content));
    tfs_blob_unref(content);
    if (draft == NULL)
        return -ENOMEM;
    tfs_draft_stands_on(draft, view.doc, &view.node, unborn ? TFS_STAMP_NONE : view.stamp);
    draft->accepted = tfs_draft_size(draft);
    if (handle->append)
        tfs_draft_skip_lines(draft);
    handle->draft = draft;
    return 0;
}

/* A draft that nothing was written to begins anew with the first write. */
static void end_unused(struct tfs_handle *handle)
{
    if (handle->draft == NULL || handle->draft->writes > 0)
        return;
    tfs_draft_free(handle->draft);
    handle->draft = NULL;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t draft_limit(struct tfs_session *s, const struct tfs_inode *inode)
{
    const struct tfs_view view = tfs_ops_view_of(s, inode);

    return tfs_node_text_max(view.save, view.doc, &view.node);
}

/* May the draft have this size? A large one goes from memory into a file, where its lens takes it
 * so. */
static int make_room(struct tfs_session *s, struct tfs_handle *handle, uint64_t size)
{
    const struct tfs_inode *inode = handle->inode;
    const struct tfs_save *save = tfs_ops_branch(s, &inode->node)->save;

    if (size > tfs_draft_size(handle->draft) && size > TFS_DRAFT_MAX &&
        size > draft_limit(s, inode))
        return -EFBIG;
    const bool large = (tfs_node_file(save, &inode->node)->flags & TFS_FILE_LARGE) != 0;
    return large && size >= TFS_DRAFT_LARGE ? tfs_draft_spill(handle->draft) : 0;
}

static int resize_scratch(struct tfs_session *s, struct tfs_scratch *scratch, uint64_t size)
{
    /* Rejected bytes do not count as scratch. */
    if ((scratch->flags & TFS_SCRATCH_UNCAPPED) != 0 && size > scratch->bytes.size &&
        size > TFS_DRAFT_MAX)
        return -EFBIG;
    const int result = tfs_scratch_resize(&s->scratch_tree, scratch, size);
    if (result == 0)
        scratch->mtime = scratch->ctime = tfs_views_now(&s->views);
    return result;
}

/* An empty one needs nothing of the file. */
static int begin_cut(struct tfs_session *s, struct tfs_need *need, struct tfs_handle *handle,
                     uint64_t size)
{
    if (size > 0)
        return begin_draft(s, need, handle);
    if (handle->draft == NULL)
        handle->draft = tfs_draft_create((struct tfs_span){0});
    return handle->draft != NULL ? 0 : -ENOMEM;
}

static int resize_draft(struct tfs_session *s, struct tfs_need *need, struct tfs_handle *handle,
                        uint64_t size)
{
    int result = begin_cut(s, need, handle, size);

    if (result == 0)
        result = make_room(s, handle, size);
    if (result == 0)
        result = tfs_draft_resize(handle->draft, size);
    return result;
}

/* Or longer. */
static void cut_shorter(struct tfs_handle *handle)
{
    handle->draft->accepted = TFS_NOT_APPENDED;
    if (handle->append)
        tfs_draft_skip_lines(handle->draft);
}

int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_handle *handle,
                      uint64_t size, bool opening)
{
    struct tfs_inode *inode = handle->inode;
    int result = tfs_ops_open_array(s, inode); /* it may have got the name since */

    if (result < 0)
        return result;
    if (inode->array != NULL) {
        handle->wrote = true;
        return tfs_ops_resize_array(s, inode, size);
    }
    if (handle->inode->scratch != NULL)
        return resize_scratch(s, inode->scratch, size);
    result = resize_draft(s, need, handle, size);
    if (tfs_needs_more(result))
        return result;
    if (result == 0 && size == 0)
        tfs_draft_cut(handle->draft, tfs_views_now(&s->views));
    else if (result == 0)
        cut_shorter(handle);
    if (result == 0 && !opening)
        tfs_draft_wrote(handle->draft, TFS_OWNER_ANY, tfs_views_now(&s->views));
    if (result < 0)
        end_unused(handle);
    return result;
}

/* ---- write ----------------------------------------------------------------------------------- */

/* Lines that an append is about to add. */
struct scan {
    struct tfs_buf text; /* the header and these lines; empty: there is nothing to look at */
    struct tfs_doc *doc;
    struct tfs_node node;
    uint64_t end; /* of the draft, with them */
};

struct writing {
    struct tfs_handle *handle;
    uint64_t owner;
    uint64_t offset;
    struct tfs_span bytes;
    bool from_cache;
    struct tfs_error why; /* of a write to an array that failed */
    struct scan scan;
};

/* The kernel writes pages of a mapping back through any handle that has the file mapped: then the
 * close of each of them may be that of the program that wrote. */
static void note_writers(const struct writing *w)
{
    w->handle->wrote = true;
    for (struct tfs_handle *h = w->handle->inode->handles; w->from_cache && h != NULL; h = h->next)
        h->wrote = h->wrote || h->writer;
}

/* Where an append goes is for us to say: the kernel knows the size that it last asked for. */
static uint64_t offset_of(const struct writing *w, uint64_t size)
{
    return w->handle->append && !w->from_cache ? size : w->offset;
}

static int write_array(struct tfs_session *s, struct tfs_need *need, struct writing *w)
{
    struct tfs_inode *inode = w->handle->inode;
    int result = tfs_ops_write_array(s, need, inode, offset_of(w, inode->array->pages->size),
                                     w->bytes, &w->why);

    if (!tfs_needs_more(result))
        note_writers(w);
    return result;
}

static int write_scratch(struct tfs_session *s, struct writing *w)
{
    struct tfs_scratch *scratch = w->handle->inode->scratch;
    const uint64_t offset = offset_of(w, scratch->bytes.size), end = offset + w->bytes.size;

    if (offset > UINT64_MAX / 2)
        return -EFBIG;
    int result = resize_scratch(s, scratch, end > scratch->bytes.size ? end : scratch->bytes.size);
    if (result == 0 && w->bytes.size > 0)
        memcpy(scratch->bytes.data + offset, w->bytes.data, w->bytes.size);
    return result;
}

static int write_draft(struct tfs_session *s, struct tfs_need *need, struct writing *w)
{
    struct tfs_handle *handle = w->handle;
    int result = begin_draft(s, need, handle);

    if (result < 0)
        return result;
    struct tfs_draft *draft = handle->draft;
    const uint64_t offset = offset_of(w, tfs_draft_size(draft));
    result = offset > UINT64_MAX / 2 ? -EFBIG : make_room(s, handle, offset + w->bytes.size);
    if (result == 0)
        result = tfs_draft_write(draft, offset, w->bytes);
    if (result < 0)
        return result;
    tfs_draft_wrote(draft, w->owner, tfs_views_now(&s->views));
    if (w->scan.text.size > 0)
        draft->scanned = w->scan.end;
    return 0;
}

static int try_write(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct writing *w = call;
    struct tfs_inode *inode = w->handle->inode;
    int result = tfs_ops_open_array(s, inode); /* it may have got the name since */

    if (result < 0)
        return result;
    if (inode->array != NULL)
        result = write_array(s, need, w);
    else if (inode->scratch != NULL)
        result = write_scratch(s, w);
    else
        result = write_draft(s, need, w);
    if (result < 0 && !tfs_needs_more(result))
        end_unused(w->handle);
    return result;
}

/* ---- looking at what is appended ------------------------------------------------------------- */

/* Of a table of a chunk, unless its directory is new and its texts come in any order. */
static bool is_scanned(struct tfs_session *s, const struct writing *w)
{
    const struct tfs_inode *inode = w->handle->inode;

    if (!w->handle->append || w->from_cache || inode->scratch != NULL || tfs_inode_is_gone(inode) ||
        inode->array != NULL || inode->node.scope != TFS_SCOPE_CHUNK ||
        tfs_names_is_new(&s->names, &inode->node))
        return false;
    const char *path = tfs_node_file(tfs_ops_branch(s, &inode->node)->save, &inode->node)->path;
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

/* The lines that are whole with these bytes; a line ends where no quote is open. */
static void take_lines(const struct tfs_draft *draft, struct tfs_span more, struct scan *scan)
{
    const struct tfs_span known = tfs_buf_span(&draft->bytes);
    const uint8_t *header = memchr(known.data, '\n', (size_t)draft->scanned);
    struct tfs_buf *text = &scan->text;
    size_t quotes = 0;

    if (header != NULL)
        tfs_buf_add(text, known.data, (size_t)(header + 1 - known.data));
    const size_t start = text->size;
    tfs_buf_add(text, known.data + draft->scanned, known.size - (size_t)draft->scanned);
    tfs_buf_add_span(text, more);
    if (text->failed)
        return;
    const uint8_t *end =
        text->size > start ? memrchr(text->data + start, '\n', text->size - start) : NULL;
    const size_t size = end != NULL ? (size_t)(end + 1 - (text->data + start)) : 0;
    for (size_t i = start; i < start + size; i++)
        quotes += text->data[i] == '"';
    text->size = size > 0 && quotes % 2 == 0 ? start + size : 0;
    scan->end = draft->scanned + size;
}

static int try_scan(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct writing *w = call;

    if (!is_scanned(s, w))
        return 0;
    const int result = begin_draft(s, need, w->handle);
    if (result < 0 || w->handle->draft->sparse != NULL)
        return result;
    take_lines(w->handle->draft, w->bytes, &w->scan);
    const struct tfs_view view = tfs_ops_view_of(s, w->handle->inode);
    w->scan.node = view.node;
    w->scan.doc = tfs_doc_ref(view.doc);
    return 0;
}

static uint64_t count_lines(struct tfs_span text)
{
    const uint8_t *at = text.data, *end = text.data + text.size;
    uint64_t lines = 0;

    for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        lines++;
    return lines;
}

/* Puts the lines and one more, which no text of any file may have, onto an edit that nobody will
 * see. What is wrong with an earlier line is wrong whatever follows; what is said of the last one
 * may be because more is to come. */
static int look(struct tfs_session *s, const struct writing *w, struct tfs_error *why)
{
    static const char no_line[] = "\x01\n";
    const struct scan *scan = &w->scan;
    struct tfs_save *save = tfs_ops_branch(s, &scan->node)->save;
    struct tfs_buf text = {0};
    struct tfs_edit edit = {0};
    struct tfs_put put = {0};

    tfs_buf_add_span(&text, tfs_buf_span(&scan->text));
    tfs_buf_add_text(&text, no_line);
    if (!text.failed && tfs_edit_open(scan->doc, &edit, why) == 0)
        (void)tfs_node_put(save, &edit, &scan->node, tfs_buf_span(&text), &put, why);
    tfs_edit_release(&edit);
    tfs_buf_release(&text);
    return why->code == -EBADMSG && why->line > 0 &&
                   why->line <= count_lines(tfs_buf_span(&scan->text))
               ? -EBADMSG
               : 0;
}

/* Of those that were looked at before, but for the header, which stands before the new ones,
 * too. */
static uint32_t lines_above(const struct tfs_draft *draft)
{
    const uint64_t lines =
        count_lines((struct tfs_span){draft->bytes.data, (size_t)draft->scanned});

    return lines > 0 ? (uint32_t)(lines - 1) : 0;
}

/* 0, or -EBADMSG: a line can never be right, and nothing of the bytes is in the draft. */
static int scan_lines(struct tfs_session *s, struct writing *w)
{
    struct tfs_error why = {0};
    int result = tfs_ops_run_as_read(s, NULL, try_scan, w);

    if (result == 0 && w->scan.text.size > 0)
        result = look(s, w, &why);
    if (result == 0)
        return 0;
    pthread_mutex_lock(&s->lock);
    if (why.line > 0)
        why.line += lines_above(w->handle->draft);
    end_unused(w->handle);
    pthread_mutex_unlock(&s->lock);
    if (why.line > 0)
        tfs_ops_log_node(s, &why, &w->handle->inode->node);
    return result;
}

int tfs_session_write(struct tfs_session *s, struct tfs_handle *handle, uint64_t owner,
                      uint64_t offset, struct tfs_span bytes, bool from_cache)
{
    struct writing w = {handle, owner, offset, bytes, from_cache, .why = {0}};
    int result = scan_lines(s, &w);

    if (result == 0)
        result = tfs_ops_run_as_read(s, handle, try_write, &w);
    if (w.why.code < 0)
        tfs_ops_log_node(s, &w.why, &handle->inode->node);
    tfs_buf_release(&w.scan.text);
    tfs_doc_unref(w.scan.doc);
    return result;
}

/* ---- read ------------------------------------------------------------------------------------ */

static struct tfs_span cut(struct tfs_span bytes, uint64_t offset, size_t size)
{
    if (offset >= bytes.size)
        return (struct tfs_span){0};
    size_t left = bytes.size - (size_t)offset;
    return (struct tfs_span){bytes.data + offset, size < left ? size : left};
}

struct reading {
    struct tfs_handle *handle;
    uint64_t owner;
    uint64_t offset;
    size_t size;
    struct tfs_blob **hold;
    struct tfs_span *bytes;
};

/* Rendered content, which the handle holds on to for the next piece. */
static int read_whole(struct tfs_session *s, const struct reading *r, struct tfs_need *need,
                      const struct tfs_view *view)
{
    struct tfs_handle *handle = r->handle;

    if (handle->blob != NULL && handle->stamp == view->stamp) {
        *r->hold = tfs_blob_ref(handle->blob);
        return 0;
    }
    const int result = tfs_ops_bytes(s, need, view, r->hold);
    if (result == 0) {
        tfs_blob_unref(handle->blob);
        handle->blob = tfs_blob_ref(*r->hold);
        handle->stamp = view->stamp;
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
    const struct tfs_view base = tfs_ops_view_in(s, node, pages->base);
    struct tfs_blob *shown = NULL;
    struct tfs_error err = {0};
    struct tfs_buf bytes = {0};
    int result = 0;

    if (size > 0 && !tfs_sparse_holds(pages, r->offset, size))
        result = tfs_ops_range(need, &base, r->offset, size, &shown);
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

/* Who writes and has no draft reads what is shown at that moment. */
static int read_shown(struct tfs_session *s, const struct reading *r, struct tfs_need *need)
{
    const struct tfs_view view = tfs_ops_view_of(s, r->handle->inode);
    const bool in_ranges = r->size > 0 && tfs_views_in_ranges(&s->views, &view);

    if (tfs_store_broken(tfs_ops_branch(s, &view.node)->store))
        return -EIO;
    const int result = in_ranges ? tfs_ops_range(need, &view, r->offset, r->size, r->hold)
                                 : read_whole(s, r, need, &view);
    if (result == 0)
        *r->bytes =
            in_ranges ? tfs_blob_span(*r->hold) : cut(tfs_blob_span(*r->hold), r->offset, r->size);
    return result;
}

static int read_kept(const struct reading *r)
{
    *r->hold = tfs_blob_ref(r->handle->blob);
    *r->bytes = cut(tfs_blob_span(*r->hold), r->offset, r->size);
    return 0;
}

static int try_read(struct tfs_session *s, void *call, struct tfs_need *need)
{
    const struct reading *r = call;
    const struct tfs_inode *inode = r->handle->inode;
    const struct tfs_draft *draft = r->owner != TFS_OWNER_ANY ? r->handle->draft : NULL;

    if (draft != NULL && draft->sparse != NULL)
        return read_pages(s, r, need, &inode->node, draft->sparse);
    if (draft != NULL)
        return read_written(r, &draft->bytes);
    if (inode->scratch != NULL)
        return read_written(r, &inode->scratch->bytes);
    if (inode->array != NULL)
        return read_pages(s, r, need, &inode->array->node, inode->array->pages);
    /* It was opened before the name had a text, or while it was a scratch file. */
    if (!r->handle->writer && inode->stamp == TFS_STAMP_TAKEN)
        return read_kept(r);
    if (inode->doc == NULL && tfs_inode_unborn(&s->inodes, &inode->node) != NULL)
        return 0;
    return read_shown(s, r, need);
}

int tfs_session_read(struct tfs_session *s, struct tfs_handle *handle, uint64_t owner,
                     uint64_t offset, size_t size, struct tfs_blob **hold, struct tfs_span *bytes)
{
    struct reading r = {handle, owner, offset, size, hold, bytes};

    return tfs_ops_run_as_read(s, NULL, try_read, &r);
}

void tfs_session_read_ahead(struct tfs_session *s, uint64_t id, uint64_t offset, size_t size)
{
    struct tfs_view view = {.doc = NULL};

    pthread_mutex_lock(&s->lock);
    const struct tfs_inode *inode = tfs_inode_find(&s->inodes, id);
    if (inode != NULL && inode->array != NULL)
        view = tfs_ops_view_in(s, &inode->array->node, inode->array->pages->base);
    else if (inode != NULL && inode->scratch == NULL)
        view = tfs_ops_view_of(s, inode);
    tfs_doc_ref(view.doc);
    pthread_mutex_unlock(&s->lock);
    if (view.doc == NULL)
        return;
    const struct tfs_lens *lens = tfs_node_file(view.save, &view.node)->lens;
    if (lens->read_ahead != NULL && tfs_views_in_ranges(&s->views, &view))
        lens->read_ahead(view.save, view.doc, tfs_node_at(view.save, &view.node), offset, size);
    tfs_doc_unref(view.doc);
}
