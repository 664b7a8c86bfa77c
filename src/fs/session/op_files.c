/*
 * Open files: making, writing and closing them. A file of the schema that is written has a draft,
 * which all who have it open share until a commit point checks it (op_close.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "fs/session/op_file.h"

/* ---- open ------------------------------------------------------------------------------------ */

static bool wants_write(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

static int open_handle(struct tfs_session *s, struct tfs_inode *inode, int flags,
                       struct tfs_handle **handle)
{
    int result =
        tfs_handle_open(&s->inodes, inode, wants_write(flags), (flags & O_APPEND) != 0, handle);

    if (result < 0 || !wants_write(flags))
        return result;
    /* What the kernel has of an earlier text it drops now: no page of that is dirty. */
    if (inode->writers == 1)
        inode->dropped = inode->changes;
    result = tfs_ops_open_array(s, inode);
    if (result < 0)
        tfs_handle_close(&s->inodes, *handle);
    return result;
}

static bool still_cached(struct tfs_session *s, const struct tfs_inode *inode)
{
    const unsigned moving = TFS_SCRATCH_CONTROL | TFS_SCRATCH_UNCAPPED;

    if (inode->scratch != NULL)
        return (inode->scratch->flags & moving) == 0;
    return tfs_views_opened(&s->views, tfs_node_id(&inode->node));
}

/* Content that changed through another view, or became canonical at a close, may have another size
 * than the kernel believes, which appends and reads by what it believes. ESTALE makes it look the
 * name up again: once a caller, for when it comes back others may have changed the file again. */
static bool must_look_again(struct tfs_session *s, const struct tfs_inode *inode, pid_t caller)
{
    uint64_t file = inode->scratch == NULL ? tfs_node_id(&inode->node) : inode->id;
    struct tfs_retry *retry = &s->retries[(unsigned)caller % TFS_RETRIES];
    bool again = retry->caller == caller && retry->file == file;

    *retry = (struct tfs_retry){0};
    if (again || inode->scratch != NULL || tfs_views_is_told(&s->views, file))
        return false;
    *retry = (struct tfs_retry){file, caller};
    return true;
}

struct opening {
    uint64_t id;
    int flags;
    pid_t caller;
    struct tfs_handle *handle;
    bool *keep;
};

static int open_inode(struct tfs_session *s, struct opening *o, struct tfs_inode *inode)
{
    bool cut = (o->flags & O_TRUNC) != 0;

    if (must_look_again(s, inode, o->caller))
        return -ESTALE;
    int result = open_handle(s, inode, o->flags, &o->handle);
    if (result == 0 && cut) {
        result = tfs_file_truncate(s, NULL, inode, 0);
        o->handle->wrote = true;
        if (result < 0)
            tfs_handle_close(&s->inodes, o->handle);
    }
    if (result == 0)
        *o->keep = still_cached(s, inode) && !cut;
    return result;
}

static int try_open(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct opening *o = call;
    struct tfs_inode *inode = NULL;
    struct tfs_attr attr;
    struct tfs_node node;
    int result = tfs_ops_await_close(need, tfs_inode_find(&s->inodes, o->id));

    if (result == 0 && tfs_ops_node(s, o->id, &node) == 0)
        result = tfs_ops_know_inside(s, need, &node);
    if (result == 0)
        result = tfs_file_for_open(s, o->id, wants_write(o->flags), &inode);
    if (result == 0 && inode == s->quarantine.status)
        result = tfs_ops_attr(s, need, inode, &attr); /* of now */
    if (result == 0)
        result = open_inode(s, o, inode);
    if (result < 0 && inode != NULL)
        tfs_inode_drop(&s->inodes, inode);
    return result;
}

int tfs_session_open_file(struct tfs_session *s, uint64_t id, int flags, pid_t caller,
                          struct tfs_handle **handle, bool *keep)
{
    struct opening o = {.id = id, .flags = flags, .caller = caller, .keep = keep};
    int result = tfs_ops_told(s, id, NULL, tfs_ops_run_as_read(s, try_open, &o), NULL);

    if (result == 0)
        *handle = o.handle;
    return result;
}

/* ---- create ---------------------------------------------------------------------------------- */

struct creating {
    uint64_t parent;
    const char *name;
    const struct tfs_attr *owner;
    int flags;
    struct tfs_handle *handle;
    struct tfs_attr *attr;
    struct tfs_error err; /* to be logged; code 0: nothing */
};

/* `mkdir chunks/X; echo ... >> chunks/X/voxels.csv`: the file is in the new chunk and is only
 * hidden for those who copy, with O_EXCL. A program that asks for neither gets what the file holds.
 */
static bool starts_from_text(struct tfs_session *s, const struct creating *c,
                             const struct tfs_node *node)
{
    const struct tfs_branch *branch = tfs_ops_branch(s, node);
    enum tfs_hiding hiding;

    return (c->flags & (O_EXCL | O_TRUNC)) == 0 && tfs_names_is_new(&s->names, node) &&
           tfs_names_hides(&s->names, node, &hiding) && hiding != TFS_HIDING_UNLINKED &&
           tfs_node_exists(branch->save, tfs_store_shown(branch->store), node) == 1;
}

/* A file of the schema that is not there: deleted, hidden in a new chunk, or optional and
 * absent. */
static int create_schema(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                         struct tfs_inode **inode)
{
    if (tfs_node_is_directory(&entry->node))
        return -EISDIR;
    if (tfs_ops_read_only(s, &entry->node))
        return -EROFS;
    if (tfs_entry_check_shown(entry, &c->err) < 0)
        return c->err.code;
    if (!tfs_ops_writable(s, &entry->node))
        return -EACCES;
    *inode = tfs_inode_make(&s->inodes, &entry->node);
    if (*inode == NULL)
        return -ENOMEM;
    int result = open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
    if (result < 0)
        return result;
    if (!starts_from_text(s, c, &entry->node))
        result = tfs_file_truncate(s, NULL, *inode, 0);
    if (result < 0)
        return result;
    /* The name comes back last: until now it could stay away. */
    tfs_names_show(&s->names, &entry->node);
    struct tfs_node dir = tfs_ops_parent(s, &entry->node);
    tfs_ops_bump_directory(s, &dir);
    return 0;
}

static int create_scratch(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                          struct tfs_inode **inode)
{
    int result = tfs_entry_free_for_scratch(s, entry, c->name, false);

    if (result == 0)
        result =
            tfs_entry_make_scratch(s, c->parent, c->name, TFS_SCRATCH_FILE, c->owner, "", inode);
    return result < 0 ? result : open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
}

/* An existing name: opens it instead, as open(O_CREAT) does. */
static int create_existing(struct tfs_session *s, struct creating *c, const struct tfs_entry *entry,
                           struct tfs_inode **inode)
{
    if ((c->flags & O_EXCL) != 0)
        return -EEXIST;
    uint64_t id =
        entry->link != NULL ? entry->link->scratch->id : tfs_inode_id(&s->inodes, &entry->node);
    int result = tfs_file_for_open(s, id, wants_write(c->flags), inode);
    if (result == 0)
        result = open_handle(s, *inode, c->flags | O_WRONLY, &c->handle);
    if (result == 0 && (c->flags & O_TRUNC) != 0)
        result = tfs_file_truncate(s, NULL, *inode, 0);
    return result;
}

static int try_create(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct creating *c = call;
    struct tfs_entry entry;
    struct tfs_inode *inode = NULL;

    c->handle = NULL;
    int result = tfs_entry_find(s, need, c->parent, c->name, &entry);
    if (result < 0)
        return result;
    bool fresh_name = entry.link == NULL && !entry.schema;
    if (entry.link != NULL || entry.visible)
        result = create_existing(s, c, &entry, &inode);
    else if (entry.schema)
        result = create_schema(s, c, &entry, &inode);
    else
        result = create_scratch(s, c, &entry, &inode);
    if (result == 0)
        result = tfs_ops_attr(s, need, inode, c->attr);
    if (result == 0) {
        c->attr->id = inode->id; /* whatever became of its name meanwhile */
        c->handle->wrote = inode->draft != NULL && tfs_draft_is_unchecked(inode->draft);
        inode->lookups++;
        return 0;
    }
    /* After a failure nothing is left of a file that was made. */
    if (c->handle != NULL)
        tfs_handle_close(&s->inodes, c->handle);
    if (inode != NULL && fresh_name && inode->scratch->link != NULL)
        tfs_link_remove(&s->overlay, inode->scratch->link);
    if (inode != NULL)
        tfs_inode_drop(&s->inodes, inode);
    return result;
}

int tfs_session_create(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, int flags, struct tfs_handle **handle,
                       struct tfs_attr *attr)
{
    const struct tfs_attr owner = {.st = {.st_mode = mode, .st_uid = uid, .st_gid = gid}};
    struct creating c = {
        .parent = parent, .name = name, .owner = &owner, .flags = flags, .attr = attr};
    int result = tfs_ops_told(s, parent, name, tfs_ops_run(s, try_create, &c), &c.err);

    if (result == 0)
        *handle = c.handle;
    return result;
}

/* ---- write ----------------------------------------------------------------------------------- */

struct writing {
    struct tfs_handle *handle;
    pid_t caller;
    uint64_t offset;
    struct tfs_span bytes;
    bool from_cache;
    bool stale;           /* the kernel believes in another size */
    bool tell;            /* that the handle is outdated */
    bool overtook;        /* the file, which is newer than the page: to be told */
    struct tfs_error why; /* of a write to an array that failed */
    struct tfs_scan scan;
};

/* No fragment is waited for any more. */
static void end_fragment(struct tfs_session *s, const struct tfs_inode *inode)
{
    if (inode->draft == NULL || inode->draft->fragment_until == 0)
        return;
    inode->draft->fragment_until = 0;
    tfs_store_wake(tfs_ops_branch(s, &inode->node)->store);
}

/* The kernel splits a write(2), mostly at the end of a page of which it holds only a fragment. A
 * program that closes the file between the two has written nothing wrong: his bytes are checked
 * with the whole of it. The kernel lets nobody else write, cut or sync the file between the
 * fragments, so that the next write is the rest, whichever program makes it, and only a FLUSH can
 * come in between. */
static void note_fragment(struct tfs_session *s, const struct tfs_inode *inode, pid_t caller,
                          uint64_t end)
{
    if (inode->draft == NULL || end % TFS_PAGE != 0)
        return;
    inode->draft->fragment_until = tfs_now_ms() + s->options.fragment_ms;
    inode->draft->fragment_by = caller;
}

/* The kernel writes pages of a mapping back through any handle that has the file mapped: then the
 * close of each of them may be that of the program that wrote. */
static void note_writers(struct tfs_session *s, const struct writing *w)
{
    w->handle->wrote = true;
    for (struct tfs_handle *h = s->inodes.handles; w->from_cache && h != NULL; h = h->behind)
        h->wrote = h->wrote || (h->writer && h->inode == w->handle->inode);
}

/* Are the bytes of the draft final, but for what is appended? */
static void note_order(const struct writing *w, struct tfs_draft *draft, uint64_t offset)
{
    if (w->handle->append && draft->state == TFS_DRAFT_CLEAN)
        draft->ordered = true;
    draft->ordered = draft->ordered && !w->from_cache && offset == tfs_draft_size(draft);
}

static uint64_t size_of(const struct tfs_inode *inode)
{
    return inode->scratch != NULL ? inode->scratch->bytes.size : tfs_draft_size(inode->draft);
}

/* Where an append goes is for us to say: the kernel knows the size that it last asked for. */
static uint64_t offset_of(const struct writing *w, const struct tfs_inode *inode)
{
    return w->handle->append && !w->from_cache ? size_of(inode) : w->offset;
}

static int put_bytes(struct tfs_session *s, struct tfs_inode *inode, uint64_t offset,
                     struct tfs_span bytes)
{
    struct tfs_buf *buf = inode->scratch != NULL ? &inode->scratch->bytes : &inode->draft->bytes;
    int result = 0;

    tfs_file_spill(s, inode, offset + bytes.size);
    if (offset + bytes.size > size_of(inode))
        result = tfs_file_resize(s, inode, offset + bytes.size);
    if (result < 0 || bytes.size == 0)
        return result;
    if (inode->draft != NULL && inode->draft->sparse != NULL) {
        result = tfs_sparse_write(inode->draft->sparse, offset, bytes);
        if (result == 0 || tfs_draft_unspill(inode->draft) < 0)
            return result;
    }
    memcpy(buf->data + offset, bytes.data, bytes.size);
    return 0;
}

static int write_bytes(struct tfs_session *s, struct writing *w, struct tfs_inode *inode)
{
    const uint64_t offset = offset_of(w, inode);

    w->stale = offset != w->offset; /* what the kernel cached is wrong, too */
    if (offset > UINT64_MAX / 2)
        return -EFBIG;
    if (inode->draft != NULL)
        note_order(w, inode->draft, offset);
    int result = put_bytes(s, inode, offset, w->bytes);
    if (result < 0)
        return result;
    note_writers(s, w);
    tfs_file_wrote(s, inode, false);
    tfs_scan_begin(s, inode, &w->scan);
    return 0;
}

/* A page of a mapping comes back whole when the kernel drops it, because the file reads otherwise
 * by now: laid over the newer text it would cut lines in two. */
static void take_page(struct writing *w, struct tfs_inode *inode)
{
    struct tfs_draft *draft = inode->draft;

    if (!w->from_cache || draft == NULL || draft->changes <= inode->dropped)
        return;
    w->overtook = !draft->overtaken;
    draft->overtaken = draft->told = true;
    draft->quarantined = false;
    (void)tfs_draft_take(draft, TFS_DRAFT_OUTDATE);
}

/* Of a handle whose text another program's save took the place of: what it says with these bytes is
 * put aside. */
static int refuse_outdated(struct tfs_session *s, struct writing *w, struct tfs_inode *inode)
{
    struct tfs_span last = tfs_blob_span(inode->outdated);
    struct tfs_error ignored = {0};
    struct tfs_buf text = {0};
    const bool appends = w->handle->append && !w->from_cache;
    const uint64_t offset = appends ? last.size : w->offset;

    w->tell = !w->handle->refused;
    w->handle->refused = true;
    if (inode->outdated == NULL || offset > TFS_DRAFT_KEPT_MAX)
        return -ESTALE;
    tfs_buf_add_span(&text, last);
    if (offset + w->bytes.size > last.size)
        tfs_buf_resize(&text, (size_t)offset + w->bytes.size);
    if (!text.failed && w->bytes.size > 0)
        memcpy(text.data + offset, w->bytes.data, w->bytes.size);
    if (!text.failed)
        (void)tfs_ops_put_aside(s, inode, tfs_buf_span(&text));
    struct tfs_blob *kept = inode->outdated;
    if (tfs_blob_take(&text, &inode->outdated, &ignored) == 0)
        tfs_blob_unref(kept);
    tfs_buf_release(&text);
    return -ESTALE;
}

static int write_array(struct tfs_session *s, struct tfs_need *need, struct writing *w,
                       struct tfs_inode *inode)
{
    const bool appends = w->handle->append && !w->from_cache;
    const uint64_t offset = appends ? inode->array->pages->size : w->offset;
    int result = tfs_ops_write_array(s, need, inode, offset, w->bytes, &w->why);

    if (result <= TFS_NEEDS_BYTES)
        return result;
    note_writers(s, w);
    if (offset != w->offset)
        tfs_notify_stale(s->notify, inode->id);
    return result;
}

static int try_write(struct tfs_session *s, void *call, struct tfs_need *need)
{
    struct writing *w = call;
    struct tfs_inode *inode = w->handle->inode;

    int result = tfs_ops_open_array(s, inode); /* it may have got the name since */
    if (result < 0 || inode->array != NULL)
        return result < 0 ? result : write_array(s, need, w, inode);
    if (w->handle->outdated && inode->scratch == NULL)
        return refuse_outdated(s, w, inode);
    result = tfs_file_begin_draft(s, need, inode, false);
    if (result <= TFS_NEEDS_BYTES)
        return result;
    if (result == 0 && tfs_ops_await_answer(need, inode) < 0)
        return TFS_NEEDS_ANSWER;
    if (result == 0 && inode->draft != NULL && inode->draft->state == TFS_DRAFT_POISONED)
        result = -EBADMSG;
    if (result == 0)
        result = write_bytes(s, w, inode);
    if (result == 0)
        take_page(w, inode);
    if (result == -ENOSPC && tfs_ops_await_room(need, inode) == TFS_NEEDS_CLOSE)
        return TFS_NEEDS_CLOSE;
    if (result < 0)
        tfs_ops_end_clean(s, inode, false);
    if (!w->from_cache)
        end_fragment(s, inode);
    if (!w->from_cache && result == 0)
        note_fragment(s, inode, w->caller, w->offset + w->bytes.size);
    if (w->stale)
        tfs_notify_stale(s->notify, inode->id);
    return result;
}

int tfs_session_write(struct tfs_session *s, struct tfs_handle *handle, pid_t caller,
                      uint64_t offset, struct tfs_span bytes, bool from_cache)
{
    struct writing w = {handle, caller, offset, bytes, from_cache, .stale = false};
    struct tfs_error why = {0};
    int result = tfs_ops_run_as_read(s, try_write, &w);

    if (w.tell || w.overtook) {
        tfs_fail(&why, -ESTALE, "%s", w.tell ? tfs_ops_outdated : tfs_ops_overtaken);
        tfs_ops_log_inode(s, &why, handle->inode);
    }
    if (w.why.code < 0)
        tfs_ops_log_inode(s, &w.why, handle->inode);
    if (result == 0)
        result = tfs_scan_end(s, handle->inode, &w.scan);
    if (w.stale)
        tfs_notify_then(s->notify, NULL, NULL);
    return result;
}

/* ---- commit points --------------------------------------------------------------------------- */

/* 0, or -ENOMEM; the job answers later. */
static int submit_flush(struct tfs_session *s, struct tfs_inode *inode, pid_t caller,
                        struct tfs_reply reply)
{
    struct tfs_flush_work *work =
        tfs_work_create(sizeof(*work), &tfs_flush, tfs_ops_branch(s, &inode->node), inode, reply);

    if (work == NULL)
        return -ENOMEM;
    work->patient = true;
    work->caller = caller;
    tfs_work_submit(&work->work);
    return 0;
}

/* Is there anything that this close would be told of? What was accepted with the bytes of another
 * handle may still be on its way to the save or to the journal. */
static bool has_to_flush(struct tfs_session *s, const struct tfs_handle *handle)
{
    const struct tfs_inode *inode = handle->inode;
    const struct tfs_draft *draft = inode->draft;

    if (!handle->wrote || handle->outdated || inode->scratch != NULL)
        return false;
    if (inode->array != NULL && (inode->array->dirty || inode->array->refused < 0))
        return true;
    if (draft != NULL && (tfs_draft_is_unchecked(draft) || draft->state == TFS_DRAFT_CHECKING))
        return true;
    return tfs_store_unsaved(tfs_ops_branch(s, &inode->node)->store);
}

void tfs_session_flush(struct tfs_session *s, struct tfs_handle *handle, pid_t caller,
                       struct tfs_reply reply)
{
    struct tfs_inode *inode = handle->inode;
    int result = 0;

    pthread_mutex_lock(&s->lock);
    if (inode->draft != NULL && inode->draft->fragment_by == caller)
        end_fragment(s, inode);
    bool flushes = !handle->refused && has_to_flush(s, handle);
    if (handle->refused) {
        result = -ESTALE;
    } else if (flushes) {
        result = submit_flush(s, inode, caller, reply);
    }
    pthread_mutex_unlock(&s->lock);
    if (!flushes || result < 0)
        tfs_reply_now(reply, result);
}

/* The last writer is gone. Accepted bytes make room for the canonical text at once, and those that
 * were rejected and put aside for what was accepted before; the store tells the caches, and checks
 * what is to be checked. */
static void release_draft(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_draft *draft = inode->draft;

    end_fragment(s, inode);
    if (draft != NULL)
        draft->closing = false;
    if (draft != NULL && (draft->state == TFS_DRAFT_CLEAN || draft->state == TFS_DRAFT_ACCEPTED))
        tfs_ops_end_draft(s, inode, false);
    else if (draft != NULL && draft->told && draft->quarantined)
        tfs_ops_end_draft(s, inode, true);
    else if (inode->array != NULL && !inode->array->dirty)
        tfs_ops_close_array(s, inode);
    pthread_cond_broadcast(&s->closed);
    struct tfs_work *work = tfs_work_create(
        sizeof(*work), &tfs_release, tfs_ops_branch(s, &inode->node), inode, (struct tfs_reply){0});
    if (work != NULL)
        tfs_work_submit(work);
    else
        s->retry_at = tfs_now_ms() + TFS_RETRY_MS;
    tfs_inode_drop(&s->inodes, inode); /* without the job */
}

void tfs_session_release(struct tfs_session *s, struct tfs_handle *handle)
{
    struct tfs_inode *inode = handle->inode;

    pthread_mutex_lock(&s->lock);
    bool writer = handle->writer;
    /* What was read lies in the kernel's cache now: the memory does for the next file. */
    if (handle->blob != NULL)
        tfs_views_drop(&s->views, tfs_node_id(&inode->node), handle->stamp);
    tfs_handle_close(&s->inodes, handle);
    if (writer && inode->scratch == NULL)
        tfs_names_touch(&s->names, &inode->node);
    if (writer && inode->writers == 0 && (inode->draft != NULL || inode->array != NULL))
        release_draft(s, inode);
    else
        tfs_inode_drop(&s->inodes, inode);
    pthread_mutex_unlock(&s->lock);
}
