/*
 * libfuse's low-level requests to session calls and back. No decision about files is made here:
 * only how long the kernel may cache what it is told.
 *
 * Attributes of a file live for TIMEOUT, because its id is one text; its name for this moment,
 * because it may get another id. Names of files that nobody edited live for TIMEOUT, too, while
 * nothing changes: a change tells the kernel that they are stale (tfs_fuse_changed). Listings do
 * until the first change. Names of directories live for TIMEOUT, and tfs_fuse_invalidate tells of
 * their attributes; one that vanished answers ESTALE, and the kernel looks it up again. Names that
 * are absent are never kept.
 *
 * What a listing says of a file stays in the kernel as an inode of 1 KiB. A walk by names (find)
 * would leave millions of them, so a listing says it only after somebody looked at a file: LISTINGS
 * of them do.
 */
#include "fs/mount/requests.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/session/session.h"

#define TIMEOUT   3600.0
#define LISTINGS  64u
#define NOREPLACE 1u /* RENAME_NOREPLACE, which not every stdio.h names */

static struct tfs_session *session_of(fuse_req_t req)
{
    return ((struct tfs_fuse_requests *)fuse_req_userdata(req))->session;
}

static void file_looked_at(fuse_req_t req)
{
    struct tfs_fuse_requests *requests = fuse_req_userdata(req);

    atomic_store_explicit(&requests->listings, LISTINGS, memory_order_relaxed);
}

static struct tfs_handle *handle_of(const struct fuse_file_info *fi)
{
    return fi != NULL ? (struct tfs_handle *)(uintptr_t)fi->fh : NULL;
}

static struct fuse_entry_param entry_of(fuse_req_t req, const struct tfs_attr *attr)
{
    const struct tfs_fuse_requests *requests = fuse_req_userdata(req);
    const bool lasts = attr->lasts && (requests->names_last || S_ISDIR(attr->st.st_mode));

    return (struct fuse_entry_param){.ino = attr->id,
                                     .attr = attr->st,
                                     .attr_timeout = attr->changing ? 0 : TIMEOUT,
                                     .entry_timeout = lasts ? TIMEOUT : 0};
}

/* ---- replies --------------------------------------------------------------------------------- */

static void done_entry(void *arg, int result, const struct tfs_attr *attr)
{
    fuse_req_t req = arg;

    if (result < 0) {
        fuse_reply_err(req, -result);
        return;
    }
    struct tfs_session *session = session_of(req); /* the reply frees the request */
    struct fuse_entry_param entry = entry_of(req, attr);
    if (fuse_reply_entry(req, &entry) == -ENOENT)
        tfs_session_forget(session, attr->id, 1);
}

static void done_err(void *arg, int result, const struct tfs_attr *attr)
{
    (void)attr;
    fuse_reply_err(arg, -result);
}

static void done_attr(void *arg, int result, const struct tfs_attr *attr)
{
    if (result < 0)
        fuse_reply_err(arg, -result);
    else if (attr != NULL)
        fuse_reply_attr(arg, &attr->st, attr->changing ? 0 : TIMEOUT);
    else
        fuse_reply_err(arg, EIO);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct tfs_attr attr;
    int result = tfs_session_lookup(session_of(req), parent, name, &attr);

    if (result == 0 && S_ISREG(attr.st.st_mode))
        file_looked_at(req);
    done_entry(req, result, &attr);
}

static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
    tfs_session_forget(session_of(req), ino, count);
    fuse_reply_none(req);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);

    tfs_session_mkdir(session_of(req), parent, name, mode, ctx->uid, ctx->gid,
                      (struct tfs_reply){done_entry, req});
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    tfs_session_rmdir(session_of(req), parent, name, (struct tfs_reply){done_err, req});
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    fuse_reply_err(req, -tfs_session_unlink(session_of(req), parent, name));
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned flags)
{
    if ((flags & ~NOREPLACE) != 0) {
        fuse_reply_err(req, EINVAL);
        return;
    }
    tfs_session_rename(session_of(req), parent, name, new_parent, new_name, flags != 0,
                       (struct tfs_reply){done_err, req});
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    struct tfs_attr attr;
    int result =
        tfs_session_symlink(session_of(req), parent, name, target, ctx->uid, ctx->gid, &attr);

    done_entry(req, result, &attr);
}

static void on_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    (void)ino;
    (void)parent;
    (void)name;
    fuse_reply_err(req, EPERM);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
    char *target = NULL;
    int result = tfs_session_readlink(session_of(req), ino, &target);

    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_readlink(req, target);
    free(target);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct tfs_attr attr;

    int result = tfs_session_getattr(session_of(req), ino, handle_of(fi), &attr);
    done_attr(req, result, &attr);
}

_Static_assert((int)TFS_SET_MODE == FUSE_SET_ATTR_MODE && (int)TFS_SET_UID == FUSE_SET_ATTR_UID &&
                   (int)TFS_SET_GID == FUSE_SET_ATTR_GID &&
                   (int)TFS_SET_SIZE == FUSE_SET_ATTR_SIZE &&
                   (int)TFS_SET_ATIME == FUSE_SET_ATTR_ATIME &&
                   (int)TFS_SET_MTIME == FUSE_SET_ATTR_MTIME,
               "libfuse's bits are the session's");

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *values, int to_set,
                       struct fuse_file_info *fi)
{
    if ((to_set & FUSE_SET_ATTR_ATIME_NOW) != 0)
        values->st_atim.tv_nsec = UTIME_NOW;
    if ((to_set & FUSE_SET_ATTR_MTIME_NOW) != 0)
        values->st_mtim.tv_nsec = UTIME_NOW;
    tfs_session_setattr(session_of(req), ino, handle_of(fi), values, (unsigned)to_set,
                        (struct tfs_reply){done_attr, req});
}

static void on_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs st;

    (void)ino;
    int result = tfs_session_statfs(session_of(req), &st);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_statfs(req, &st);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The pages of the file, before its READs: a page that a READ holds would be waited for, and with
 * all threads here nobody would answer it. So nobody else may have the file open, and who opens it
 * now waits for his answer. */
static void give_text(struct tfs_fuse_requests *requests, fuse_ino_t ino, struct tfs_handle *handle)
{
    pthread_mutex_lock(&requests->giving);
    struct tfs_blob *text = tfs_session_give_text(requests->session, handle);
    if (text != NULL) {
        struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(text->size);
        bytes.buf[0].mem = (void *)text->data;
        (void)fuse_lowlevel_notify_store(requests->se, ino, 0, &bytes, (enum fuse_buf_copy_flags)0);
    }
    pthread_mutex_unlock(&requests->giving);
    tfs_blob_unref(text);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct tfs_session *session = session_of(req);
    struct tfs_handle *handle = NULL;
    bool keep = false;

    file_looked_at(req);
    if (!tfs_session_current(session, ino))
        (void)tfs_session_look(session, ino); /* what cannot be taken in is read as it was */
    int result = tfs_session_open_file(session, ino, fi->flags, &handle, &keep);
    if (result < 0) {
        fuse_reply_err(req, -result);
        return;
    }
    fi->fh = (uintptr_t)handle;
    fi->keep_cache = keep;
    fi->direct_io = tfs_session_is_direct(handle);
    /* Nothing to flush for a handle that cannot have written. */
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY && (fi->flags & O_TRUNC) == 0;
    if (keep)
        give_text(fuse_req_userdata(req), ino, handle);
    if (fuse_reply_open(req, fi) == -ENOENT)
        tfs_session_release(session, handle);
}

static void on_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    struct tfs_session *session = session_of(req);
    struct tfs_handle *handle = NULL;
    struct tfs_attr attr;
    int result = tfs_session_create(session, parent, name, mode, ctx->uid, ctx->gid, fi->flags,
                                    &handle, &attr);

    if (result < 0) {
        fuse_reply_err(req, -result);
        return;
    }
    fi->fh = (uintptr_t)handle;
    fi->direct_io = tfs_session_is_direct(handle);
    struct fuse_entry_param entry = entry_of(req, &attr);
    if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
        tfs_session_release(session, handle);
        tfs_session_forget(session, attr.id, 1);
    }
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    const struct tfs_fuse_requests *requests = fuse_req_userdata(req);
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};

    int result = tfs_session_read(requests->session, handle_of(fi), fi->lock_owner,
                                  (uint64_t)offset, size, &hold, &bytes);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_buf(req, (const char *)bytes.data, bytes.size);
    tfs_blob_unref(hold);
    /* From here on the handle may be closed, and the request is gone. */
    if (requests->read_ahead && result == 0 && bytes.size > 0)
        tfs_session_read_ahead(requests->session, ino, (uint64_t)offset, bytes.size);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)ino;
    struct tfs_span bytes = {(const uint8_t *)data, size};
    int result = tfs_session_write(session_of(req), handle_of(fi), fi->lock_owner, (uint64_t)offset,
                                   bytes, fi->writepage);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_write(req, size);
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    tfs_session_flush(session_of(req), handle_of(fi), fi->lock_owner,
                      (struct tfs_reply){done_err, req});
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)datasync;
    if (handle_of(fi) == NULL)
        tfs_session_fsync_directory(session_of(req), ino, (struct tfs_reply){done_err, req});
    else
        tfs_session_fsync(session_of(req), handle_of(fi), (struct tfs_reply){done_err, req});
}

static void on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    tfs_session_release(session_of(req), handle_of(fi));
    fuse_reply_err(req, 0);
}

/* ---- directories ----------------------------------------------------------------------------- */

struct filling {
    fuse_req_t req;
    char *data;
    size_t size, used;
    bool plus; /* with attributes */
};

static bool fill_entry(void *arg, const struct tfs_dirent *entry)
{
    struct filling *f = arg;
    size_t left = f->size - f->used;
    struct fuse_entry_param param = entry_of(f->req, &entry->attr);
    const off_t next = (off_t)entry->next;
    size_t need =
        f->plus
            ? fuse_add_direntry_plus(f->req, f->data + f->used, left, entry->name, &param, next)
            : fuse_add_direntry(f->req, f->data + f->used, left, entry->name, &param.attr, next);

    if (need > left)
        return false;
    f->used += need;
    return true;
}

/* The kernel asks at each opening, and keeps listings until the first change. It dates what it
 * keeps by the time that the directory has when a program begins to list: an answer of before a
 * change that comes when another program has begun would be believed, though the kernel was told.
 */
static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const struct tfs_fuse_requests *requests = fuse_req_userdata(req);

    (void)ino;
    fi->keep_cache = fi->cache_readdir =
        requests->names_last && tfs_session_is_as_read(requests->session);
    fuse_reply_open(req, fi);
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
    struct tfs_fuse_requests *requests = fuse_req_userdata(req);
    const unsigned left = atomic_load_explicit(&requests->listings, memory_order_relaxed);
    struct filling f = {.req = req, .data = malloc(size), .size = size, .plus = plus};
    int result = -ENOMEM;

    if (plus && offset == 0 && left > 0) /* of two at once one may not count */
        atomic_store_explicit(&requests->listings, left - 1, memory_order_relaxed);

    if (f.data != NULL)
        result = tfs_session_read_directory(session_of(req), ino, (uint64_t)offset,
                                            plus && left > 0, fill_entry, &f);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_buf(req, f.data, f.used);
    free(f.data);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
    (void)fi;
    read_directory(req, ino, size, offset, false);
}

static void on_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    (void)fi;
    read_directory(req, ino, size, offset, true);
}

/* ---- the beginning --------------------------------------------------------------------------- */

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
    struct tfs_fuse_requests *requests = userdata;
    const unsigned wanted = FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_PARALLEL_DIROPS |
                            FUSE_CAP_ASYNC_READ | FUSE_CAP_READDIRPLUS;

    conn->want |= conn->capable & wanted;
    /* No page of a file is ever stale. */
    conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA |
                              FUSE_CAP_WRITEBACK_CACHE);
    conn->time_gran = 1;
    conn->max_read = requests->max_read; /* libfuse refuses the mount where this and -o differ */
    requests->initialized = true;
}

const struct fuse_lowlevel_ops tfs_fuse_operations = {
    .init = on_init,
    .lookup = on_lookup,
    .forget = on_forget,
    .getattr = on_getattr,
    .setattr = on_setattr,
    .readlink = on_readlink,
    .mkdir = on_mkdir,
    .unlink = on_unlink,
    .rmdir = on_rmdir,
    .symlink = on_symlink,
    .link = on_link,
    .rename = on_rename,
    .open = on_open,
    .create = on_create,
    .read = on_read,
    .write = on_write,
    .flush = on_flush,
    .fsync = on_fsync,
    .release = on_release,
    .opendir = on_opendir,
    .readdir = on_readdir,
    .readdirplus = on_readdirplus,
    .fsyncdir = on_fsync,
    .statfs = on_statfs,
};
