/*
 * Open files: reading, writing and closing. A file of the schema that is written becomes pending:
 * its bytes stand in the inode, shared by all who have it open, until a commit point judges them
 * (edits.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/state.h"

/* ---- pending bytes --------------------------------------------------------------------------- */

static void wrote(struct tfs_session *s, struct tfs_inode *inode)
{
    inode->dirty = inode->kind == TFS_INODE_VIRTUAL;
    inode->closing = inode->complained = false;
    if (inode->kind == TFS_INODE_VIRTUAL) {
        tfs_bump_locked(s, &inode->node);
        tfs_fresh_touch_locked(s, &inode->node);
    } else {
        inode->mtime = inode->ctime = tfs_now_locked(s);
    }
}

/* Makes a virtual inode pending; its bytes are what it shows now, or none. May let go of the
 * lock. */
static int make_pending(struct tfs_session *s, struct tfs_inode *inode, bool empty)
{
    struct tfs_blob *content = NULL;
    struct tfs_error err = {0};
    if (inode->kind != TFS_INODE_VIRTUAL || inode->pending)
        return 0;
    if (!empty) {
        int result = tfs_content_locked(s, &inode->node, &content, &err);
        if (result < 0)
            return result;
    }
    /* Meanwhile another writer may have begun, or the file been unlinked. */
    if (inode->kind == TFS_INODE_VIRTUAL && !inode->pending) {
        tfs_buf_add_span(&inode->bytes, tfs_blob_span(content));
        inode->pending = !inode->bytes.failed;
        if (inode->bytes.failed)
            tfs_buf_release(&inode->bytes);
    }
    tfs_blob_unref(content);
    return inode->kind != TFS_INODE_VIRTUAL || inode->pending ? 0 : -ENOMEM;
}

static uint64_t pending_limit(struct tfs_session *s, const struct tfs_inode *inode)
{
    const struct tfs_lens *lens = tfs_node_file(s->save, &inode->node)->lens;
    int64_t size = -1;
    /* Its chunk may have gone with a reload. */
    if (lens->size != NULL && tfs_node_exists(s->save, s->doc, &inode->node) == 1)
        size = lens->size(s->save, s->doc, tfs_node_at(s->save, &inode->node));
    return TFS_PENDING_MAX + (size > 0 ? 4 * (uint64_t)size : 0);
}

static int resize(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    bool grows = size > inode->bytes.size;
    if (inode->kind == TFS_INODE_VIRTUAL && grows && size > pending_limit(s, inode))
        return -EFBIG;
    /* A removed file that is still open does not count as scratch, nor do rejected bytes. */
    if (inode->uncapped && inode->kind == TFS_INODE_FILE && grows && size > TFS_PENDING_MAX)
        return -EFBIG;
    return tfs_inode_resize_locked(s, inode, size);
}

static int truncate_open(struct tfs_session *s, struct tfs_inode *inode, uint64_t size)
{
    int result = make_pending(s, inode, size == 0);
    if (result == 0)
        result = resize(s, inode, size);
    if (result == 0) {
        inode->written = inode->written && size > 0;
        wrote(s, inode);
    }
    return result;
}

/* ---- open ------------------------------------------------------------------------------------ */

static bool wants_write(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

static int handle_create(struct tfs_session *s, struct tfs_inode *inode, int flags,
                         struct tfs_handle **handle)
{
    struct tfs_handle *created = calloc(1, sizeof(*created));
    if (created == NULL)
        return -ENOMEM;
    created->inode = inode;
    created->writer = wants_write(flags);
    created->append = (flags & O_APPEND) != 0;
    inode->handles++;
    inode->writers += created->writer ? 1 : 0;
    if (created->writer)
        inode->kept = false; /* what this handle says right does not make good the one before */
    created->behind = s->handles;
    if (s->handles != NULL)
        s->handles->before = created;
    s->handles = created;
    *handle = created;
    return 0;
}

static void handle_free(struct tfs_session *s, struct tfs_handle *handle)
{
    *(handle->before ? &handle->before->behind : &s->handles) = handle->behind;
    if (handle->behind != NULL)
        handle->behind->before = handle->before;
    /* What was read lies in the kernel's cache now: the memory does for the next file. */
    if (handle->blob != NULL)
        tfs_cache_drop(&s->cache, tfs_node_id(&handle->inode->node), handle->stamp);
    handle->inode->handles--;
    handle->inode->writers -= handle->writer ? 1 : 0;
    tfs_blob_unref(handle->blob);
    free(handle);
}

void tfs_handles_release(struct tfs_session *s)
{
    while (s->handles != NULL)
        handle_free(s, s->handles);
}

/* The inode of an id that may be opened so; made if it is one of the schema. */
static int inode_for_open(struct tfs_session *s, uint64_t id, int flags, struct tfs_inode **inode)
{
    struct tfs_node node;
    *inode = tfs_inode_find_locked(s, id);
    if (*inode != NULL && (*inode)->kind != TFS_INODE_VIRTUAL) {
        if ((*inode)->kind == TFS_INODE_DIRECTORY)
            return -EISDIR;
        /* Its name went to another file between the caller's lookup and this. */
        if ((*inode)->link == NULL && (*inode)->handles == 0 && !(*inode)->displaced)
            return -ESTALE;
        return (*inode)->control && wants_write(flags) ? -EACCES : 0;
    }
    int result = tfs_id_node_locked(s, id, &node);
    if (result < 0)
        return result;
    if (tfs_node_is_directory(&node))
        return -EISDIR;
    int visible = tfs_visible_locked(s, &node);
    if (visible <= 0)
        return visible < 0 ? visible : -ESTALE;
    if (wants_write(flags) && s->options.read_only)
        return -EROFS;
    if (wants_write(flags) && !tfs_node_writable(s->save, s->doc, &node))
        return -EACCES;
    *inode = tfs_inode_of_node_locked(s, &node);
    return *inode != NULL ? 0 : -ENOMEM;
}

static bool still_cached(struct tfs_session *s, const struct tfs_inode *inode)
{
    if (inode->control || inode->uncapped)
        return false;
    if (inode->kind != TFS_INODE_VIRTUAL)
        return true;
    struct tfs_change *change = tfs_change_known_locked(s, tfs_node_id(&inode->node));
    if (change == NULL || change->open_stamp == change->stamp)
        return change != NULL || s->base_stamp == 0;
    change->open_stamp = change->stamp;
    return false;
}

/* Content that changed through another view, or became canonical at a close, may have another size
 * than the kernel believes, which appends and reads by what it believes. ESTALE makes it look the
 * name up again: once a caller, for when it comes back others may have changed the file again. */
static bool must_look_again(struct tfs_session *s, const struct tfs_inode *inode, pid_t caller)
{
    const struct tfs_change *change = inode->kind == TFS_INODE_VIRTUAL
                                          ? tfs_change_known_locked(s, tfs_node_id(&inode->node))
                                          : NULL;
    uint64_t file = inode->kind == TFS_INODE_VIRTUAL ? tfs_node_id(&inode->node) : inode->id;
    struct tfs_retry *retry = &s->retries[(unsigned)caller % TFS_RETRIES];
    bool again = retry->caller == caller && retry->file == file;
    *retry = (struct tfs_retry){0};
    bool told = change != NULL ? change->told_stamp == change->stamp
                               : inode->kind != TFS_INODE_VIRTUAL || s->base_stamp == 0;
    if (again || told)
        return false;
    *retry = (struct tfs_retry){file, caller};
    return true;
}

int tfs_session_open_file(struct tfs_session *s, uint64_t id, int flags, pid_t caller,
                          struct tfs_handle **handle, bool *keep)
{
    struct tfs_inode *inode = NULL;
    pthread_mutex_lock(&s->lock);
    tfs_await_close_locked(s, id);
    int result = inode_for_open(s, id, flags, &inode);
    if (result == 0 && inode == s->status)
        tfs_status_update_locked(s);
    if (result == 0 && must_look_again(s, inode, caller))
        result = -ESTALE;
    if (result == 0)
        result = handle_create(s, inode, flags, handle);
    if (result == 0 && (flags & O_TRUNC) != 0) {
        (*handle)->wrote = true;
        result = truncate_open(s, inode, 0);
        if (result < 0)
            handle_free(s, *handle);
    }
    if (result == 0)
        *keep = still_cached(s, inode) && (flags & O_TRUNC) == 0;
    if (result < 0 && inode != NULL)
        tfs_inode_drop_locked(s, inode);
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* ---- create ---------------------------------------------------------------------------------- */

/* A file of the schema that is not there: deleted, hidden in a new chunk, or optional and
 * absent. */
static int create_schema(struct tfs_session *s, const struct tfs_entry *entry, int flags,
                         struct tfs_inode **inode, struct tfs_handle **handle)
{
    if (tfs_node_is_directory(&entry->node))
        return -EISDIR;
    if (s->options.read_only)
        return -EROFS;
    if (!tfs_node_writable(s->save, s->doc, &entry->node))
        return -EACCES;
    *inode = tfs_inode_of_node_locked(s, &entry->node);
    if (*inode == NULL)
        return -ENOMEM;
    /* The name comes back last: until then it can stay away. */
    int result = handle_create(s, *inode, flags | O_WRONLY, handle);
    if (result == 0 && (result = truncate_open(s, *inode, 0)) < 0) {
        handle_free(s, *handle);
        *handle = NULL;
    }
    if (result < 0)
        return result;
    tfs_reveal_locked(s, &entry->node);
    struct tfs_node dir = tfs_tree_parent(s->save, &entry->node);
    tfs_bump_locked(s, &dir);
    return 0;
}

static int create_scratch(struct tfs_session *s, const struct tfs_entry *entry, uint64_t parent,
                          const char *name, const struct tfs_attr *owner, struct tfs_inode **inode)
{
    int result = tfs_entry_free_for_scratch(s, entry, name, false);
    if (result < 0)
        return result;
    *inode = tfs_inode_create_locked(s, TFS_INODE_FILE, owner->st.st_mode, owner->st.st_uid,
                                     owner->st.st_gid);
    return *inode != NULL ? tfs_link_add_locked(s, parent, name, *inode) : -ENOMEM;
}

/* An existing name: open it instead, as open(O_CREAT) does. */
static int create_existing(struct tfs_session *s, const struct tfs_entry *entry, int flags,
                           struct tfs_inode **inode)
{
    if ((flags & O_EXCL) != 0)
        return -EEXIST;
    uint64_t id =
        entry->link != NULL ? entry->link->inode->id : tfs_node_id_locked(s, &entry->node);
    int result = inode_for_open(s, id, flags, inode);
    if (result == 0 && (flags & O_TRUNC) != 0)
        result = truncate_open(s, *inode, 0);
    return result;
}

/* After a failure nothing is left of a file that was made. */
static void drop_created(struct tfs_session *s, struct tfs_inode *inode,
                         const struct tfs_entry *entry)
{
    if (entry->link == NULL && !entry->schema && inode->link != NULL)
        tfs_link_remove_locked(s, inode->link);
    tfs_inode_drop_locked(s, inode);
}

int tfs_session_create(struct tfs_session *s, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, int flags, struct tfs_handle **handle,
                       struct tfs_attr *attr)
{
    struct tfs_entry entry;
    struct tfs_inode *inode = NULL;
    struct tfs_handle *opened = NULL;
    struct tfs_attr owner = {.st = {.st_mode = mode, .st_uid = uid, .st_gid = gid}};
    pthread_mutex_lock(&s->lock);
    int result = tfs_entry_find_locked(s, parent, name, &entry);
    if (result < 0)
        ;
    else if (entry.link != NULL || entry.visible)
        result = create_existing(s, &entry, flags, &inode);
    else if (entry.schema)
        result = create_schema(s, &entry, flags, &inode, &opened);
    else
        result = create_scratch(s, &entry, parent, name, &owner, &inode);
    if (result == 0 && opened == NULL)
        result = handle_create(s, inode, flags | O_WRONLY, &opened);
    if (result == 0) {
        opened->wrote = inode->dirty;
        result = tfs_attr_inode_locked(s, inode, attr);
        attr->id = inode->id; /* whatever became of its name meanwhile */
        if (result < 0)
            handle_free(s, opened);
    }
    if (result == 0) {
        inode->lookups++;
        *handle = opened;
    }
    if (result < 0 && inode != NULL)
        drop_created(s, inode, &entry);
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* ---- read and write -------------------------------------------------------------------------- */

static struct tfs_span cut(struct tfs_span bytes, uint64_t offset, size_t size)
{
    if (offset >= bytes.size)
        return (struct tfs_span){0};
    size_t left = bytes.size - (size_t)offset;
    return (struct tfs_span){bytes.data + offset, size < left ? size : left};
}

/* Rendered content, kept in the handle for the next piece. */
static int rendered(struct tfs_session *s, const struct tfs_node *node, struct tfs_handle *handle,
                    struct tfs_blob **blob)
{
    uint64_t stamp = tfs_stamp_locked(s, node);
    if (handle != NULL && handle->blob != NULL && handle->stamp == stamp && s->broken == 0) {
        *blob = tfs_blob_ref(handle->blob);
        return 0;
    }
    struct tfs_error err = {0};
    int result = tfs_content_locked(s, node, blob, &err);
    if (result == 0 && handle != NULL) {
        tfs_blob_unref(handle->blob);
        handle->blob = tfs_blob_ref(*blob);
        handle->stamp = stamp;
    }
    return result;
}

int tfs_session_read(struct tfs_session *s, uint64_t id, struct tfs_handle *handle, uint64_t offset,
                     size_t size, struct tfs_blob **hold, struct tfs_span *bytes)
{
    struct tfs_node node;
    struct tfs_error err = {0};
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = handle != NULL ? handle->inode : tfs_inode_find_locked(s, id);
    int result = 0;
    if (inode != NULL && (inode->kind != TFS_INODE_VIRTUAL || inode->pending)) {
        /* Copied: these bytes may be written to at any moment. */
        result = tfs_blob_copy(cut(tfs_buf_span(&inode->bytes), offset, size), hold, &err);
        if (result == 0)
            *bytes = tfs_blob_span(*hold);
    } else {
        result = inode != NULL ? 0 : tfs_id_node_locked(s, id, &node);
        if (result == 0 && inode != NULL)
            node = inode->node;
        if (result == 0)
            result = rendered(s, &node, handle, hold);
        if (result == 0)
            *bytes = cut(tfs_blob_span(*hold), offset, size);
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* Where an append goes is for us to say: the kernel knows the size only as of its last look. If it
 * was wrong, so is what it cached. */
static uint64_t append_offset(struct tfs_session *s, const struct tfs_inode *inode, uint64_t offset)
{
    if (offset != inode->bytes.size) {
        struct tfs_job *job = tfs_job_create(tfs_apply_stale, (struct tfs_reply){0});
        if (job != NULL) {
            job->id = inode->id;
            tfs_job_submit_locked(s, job);
        }
    }
    return inode->bytes.size;
}

/* No part is waited for any more. */
static void end_part(struct tfs_session *s, struct tfs_inode *inode)
{
    if (inode->part_until != 0)
        pthread_cond_signal(&s->work);
    inode->part_until = 0;
}

/* The kernel splits a write(2), mostly at the end of a page of which it holds only a part. Whoever
 * closes the file between the two has written nothing wrong: his bytes are judged with the whole of
 * it. The kernel lets nobody else write, cut or sync the file between the parts, so that the next
 * write is the rest, whoever it is by, and only a FLUSH can come in between. */
static void note_part(struct tfs_session *s, struct tfs_inode *inode, pid_t caller, uint64_t end)
{
    if (inode->kind != TFS_INODE_VIRTUAL || end % TFS_PAGE != 0)
        return;
    inode->part_until = tfs_now_ms() + s->options.part_ms;
    inode->part_by = caller;
}

/* The kernel writes pages of a mapping back through any handle that has the file mapped: then the
 * close of each of them may be that of the program that wrote. */
static void note_writers(struct tfs_session *s, struct tfs_handle *handle, bool from_cache)
{
    handle->wrote = true;
    for (struct tfs_handle *h = s->handles; from_cache && h != NULL; h = h->behind)
        h->wrote = h->wrote || (h->writer && h->inode == handle->inode);
}

int tfs_session_write(struct tfs_session *s, struct tfs_handle *handle, pid_t caller,
                      uint64_t offset, struct tfs_span bytes, bool from_cache)
{
    struct tfs_inode *inode = handle->inode;
    const uint64_t end = offset + bytes.size; /* where the kernel sees it */
    pthread_mutex_lock(&s->lock);
    int result = make_pending(s, inode, false);
    if (result == 0 && handle->append && !from_cache)
        offset = append_offset(s, inode, offset);
    if (result == 0 && offset > UINT64_MAX / 2)
        result = -EFBIG;
    if (result == 0 && offset + bytes.size > inode->bytes.size)
        result = resize(s, inode, offset + bytes.size);
    if (result == 0) {
        if (bytes.size > 0)
            memcpy(inode->bytes.data + offset, bytes.data, bytes.size);
        inode->written = true;
        note_writers(s, handle, from_cache);
        wrote(s, inode);
    }
    if (!from_cache)
        end_part(s, inode);
    if (!from_cache && result == 0)
        note_part(s, inode, caller, end);
    pthread_mutex_unlock(&s->lock);
    return result;
}

/* ---- commit points --------------------------------------------------------------------------- */

/* job: NULL: there was no memory for it. Lets go of the lock. */
static void submit_for_inode(struct tfs_session *s, struct tfs_inode *inode, struct tfs_job *job,
                             struct tfs_reply reply)
{
    if (job == NULL) {
        s->again = true; /* a last close is judged later */
        pthread_mutex_unlock(&s->lock);
        tfs_reply_now(reply, -ENOMEM);
        return;
    }
    job->inode = inode;
    inode->jobs++;
    tfs_job_submit_locked(s, job);
    pthread_mutex_unlock(&s->lock);
}

void tfs_session_flush(struct tfs_session *s, struct tfs_handle *handle, pid_t caller,
                       struct tfs_reply reply)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = handle->inode;
    if (inode->part_by == caller)
        end_part(s, inode);
    bool unsaved = s->doc != s->disk && s->options.commit_seconds == 0;
    bool unjudged = inode->dirty || inode->judging;
    if (handle->wrote && inode->kind == TFS_INODE_VIRTUAL && (unjudged || unsaved)) {
        tfs_fresh_touch_locked(s, &inode->node);
        struct tfs_job *job = tfs_job_create(tfs_apply_flush, reply);
        if (job != NULL) {
            job->patient = true;
            job->caller = caller;
        }
        submit_for_inode(s, inode, job, reply);
        return;
    }
    pthread_mutex_unlock(&s->lock);
    tfs_reply_now(reply, 0);
}

void tfs_session_fsync(struct tfs_session *s, struct tfs_handle *handle, struct tfs_reply reply)
{
    pthread_mutex_lock(&s->lock);
    struct tfs_inode *inode = handle->inode;
    struct tfs_job *job = tfs_job_create(tfs_apply_flush, reply);
    if (job != NULL) {
        job->barrier = true;
        job->node = inode->kind == TFS_INODE_VIRTUAL ? inode->node : TFS_NODE_ROOT;
        if (!tfs_end_removals_locked(s, &job->node)) {
            free(job);
            job = NULL;
        }
    }
    submit_for_inode(s, inode, job, reply);
}

static void release_grave(struct tfs_session *s, struct tfs_inode *inode)
{
    struct tfs_tombstone *tomb = tfs_tombstone_locked(s, &inode->node);
    inode->grave = false;
    if (tomb != NULL && tomb->holders > 0) {
        tomb->holders--;
        tomb->deadline = tfs_now_ms() + s->options.linger_ms;
        pthread_cond_signal(&s->work);
    }
}

void tfs_session_release(struct tfs_session *s, struct tfs_handle *handle)
{
    struct tfs_inode *inode = handle->inode;
    pthread_mutex_lock(&s->lock);
    bool writer = handle->writer;
    handle_free(s, handle);
    if (inode->handles == 0 && inode->grave)
        release_grave(s, inode);
    if (inode->kind == TFS_INODE_VIRTUAL)
        tfs_fresh_touch_locked(s, &inode->node);
    if (writer && inode->writers == 0 && inode->pending) {
        /* Accepted bytes give way to the canonical text at once; the worker tells the caches. */
        if (!inode->dirty && !inode->judging) {
            tfs_bump_stamp_locked(s, &inode->node);
            tfs_inode_forget_bytes_locked(s, inode);
        }
        inode->closing = false;
        end_part(s, inode);
        pthread_cond_broadcast(&s->closed);
        submit_for_inode(s, inode, tfs_job_create(tfs_apply_release, (struct tfs_reply){0}),
                         (struct tfs_reply){0});
        return;
    }
    tfs_inode_drop_locked(s, inode);
    pthread_mutex_unlock(&s->lock);
}

/* ---- attributes ------------------------------------------------------------------------------ */

int tfs_session_getattr(struct tfs_session *s, uint64_t id, struct tfs_attr *attr)
{
    struct tfs_node node;
    pthread_mutex_lock(&s->lock);
    tfs_await_close_locked(s, id);
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    int result = 0;
    if (inode != NULL) {
        result = tfs_attr_inode_locked(s, inode, attr);
    } else {
        result = tfs_id_node_locked(s, id, &node);
        int visible = result == 0 ? tfs_visible_locked(s, &node) : 1;
        if (visible == 1 && result == 0)
            result = tfs_attr_node_locked(s, &node, false, attr);
        else if (visible <= 0)
            result = visible < 0 ? visible : -ESTALE;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

static struct timespec chosen_time(const struct timespec *time, struct timespec now)
{
    return time->tv_nsec == UTIME_NOW ? now : *time;
}

static int set_times(struct tfs_session *s, uint64_t id, const struct stat *values, unsigned set)
{
    struct tfs_node node;
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    struct timespec now = tfs_now_locked(s);
    struct tfs_change *change = NULL;
    if (inode == NULL || inode->kind == TFS_INODE_VIRTUAL) {
        int result = tfs_id_node_locked(s, id, &node);
        change = result == 0 ? tfs_change_locked(s, tfs_node_id(&node)) : NULL;
        if (change == NULL)
            return result < 0 ? result : -ENOMEM;
    }
    if ((set & TFS_SET_ATIME) != 0)
        *(change ? &change->atime : &inode->atime) = chosen_time(&values->st_atim, now);
    if ((set & TFS_SET_MTIME) != 0)
        *(change ? &change->mtime : &inode->mtime) = chosen_time(&values->st_mtim, now);
    *(change ? &change->ctime : &inode->ctime) = now;
    return 0;
}

/* Mode and owner of schema files stay the save's, without complaint: tar and cp -p want to set
 * them. */
static void set_owner(struct tfs_session *s, uint64_t id, const struct stat *values, unsigned set)
{
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    if (inode == NULL || inode->kind == TFS_INODE_VIRTUAL)
        return;
    if ((set & TFS_SET_MODE) != 0)
        inode->mode = values->st_mode & 07777;
    if ((set & TFS_SET_UID) != 0)
        inode->uid = values->st_uid;
    if ((set & TFS_SET_GID) != 0)
        inode->gid = values->st_gid;
    inode->ctime = tfs_now_locked(s);
}

/* truncate(2) by name: no close follows, so this is the commit point. Lets go of the lock when it
 * answers -EINPROGRESS. */
static int truncate_by_name(struct tfs_session *s, uint64_t id, uint64_t size,
                            struct tfs_reply reply)
{
    struct tfs_inode *inode = NULL;
    int result = inode_for_open(s, id, O_WRONLY, &inode);
    if (result < 0)
        return result;
    if (inode->kind != TFS_INODE_VIRTUAL)
        return truncate_open(s, inode, size);
    struct tfs_job *job = tfs_job_create(tfs_apply_truncate, reply);
    if (job == NULL) {
        tfs_inode_drop_locked(s, inode);
        return -ENOMEM;
    }
    job->inode = inode;
    job->size = size;
    job->settle = tfs_settle_truncate;
    job->urgent = true;
    inode->jobs++;
    tfs_job_submit_locked(s, job);
    return -EINPROGRESS;
}

void tfs_session_setattr(struct tfs_session *s, uint64_t id, struct tfs_handle *handle,
                         const struct stat *values, unsigned set, struct tfs_reply reply)
{
    struct tfs_attr attr = {0};
    struct tfs_node node;
    int result = values->st_size < 0 && (set & TFS_SET_SIZE) != 0 ? -EINVAL : 0;
    pthread_mutex_lock(&s->lock);
    if (s->options.read_only && tfs_inode_find_locked(s, id) == NULL)
        result = -EROFS;
    set_owner(s, id, values, set);
    if (result == 0 && (set & (TFS_SET_ATIME | TFS_SET_MTIME)) != 0)
        result = set_times(s, id, values, set);
    if (result == 0 && (set & TFS_SET_SIZE) != 0 && handle != NULL) {
        handle->wrote = true;
        result = truncate_open(s, handle->inode, (uint64_t)values->st_size);
    } else if (result == 0 && (set & TFS_SET_SIZE) != 0) {
        result = truncate_by_name(s, id, (uint64_t)values->st_size, reply);
    }
    struct tfs_inode *inode = tfs_inode_find_locked(s, id);
    if (result == 0 && inode != NULL)
        result = tfs_attr_inode_locked(s, inode, &attr);
    else if (result == 0 && (result = tfs_id_node_locked(s, id, &node)) == 0)
        result = tfs_attr_node_locked(s, &node, false, &attr);
    pthread_mutex_unlock(&s->lock);
    if (result != -EINPROGRESS)
        reply.done(reply.arg, result, result == 0 ? &attr : NULL);
}
