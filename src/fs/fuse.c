/*
 * libfuse's low-level requests to session calls and back. No decision about files is made here:
 * only how long the kernel may cache what it is told.
 *
 * Names and attributes live for TIMEOUT: whatever the session changes on its own account it
 * invalidates first (tfs_fuse_invalidate), and a name that vanished answers ESTALE, upon which the
 * kernel looks it up anew. Names that are absent are never cached. Directories are not opened at
 * all (offsets are stable), nor are files of a read-only mount.
 *
 * What a listing says of an entry stays in the kernel as an inode of 1 KiB, which costs 2 us at the
 * unmount. A walk by names (find) would leave millions of them, of files that nobody looked at. So
 * a listing gives the attributes of files only after somebody looked at a file; who walks and looks
 * at every file asks for those of one directory in LISTINGS by their names.
 */
#include "fs/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mounts.h"
#include "base/print.h"

#define TIMEOUT   3600.0
#define LISTINGS  64u
#define NOREPLACE 1u /* RENAME_NOREPLACE, which not every stdio.h names */

#define WAKE SIGUSR1

/* A thread that serves requests, and its room for one. */
struct server {
    struct tfs_fuse *fuse;
    pthread_t thread;
    struct fuse_buf buf;
};

struct tfs_fuse {
    struct fuse_session *se;
    struct tfs_session *session;
    bool initialized;  /* INIT was answered */
    bool skip_open;    /* the kernel can do without OPEN (read-only mounts) */
    bool skip_opendir; /* ... and without OPENDIR */
    bool read_only;
    unsigned max_read;
    struct server *servers;
    unsigned threads; /* servers with room for a request */
    unsigned started; /* servers whose thread runs */
    sigset_t signals; /* what ends the loop, and WAKE */
    pthread_t waiter; /* the thread that waits for them */
    atomic_bool ended;
    atomic_int result;     /* why a server ended the loop; 0: unmounted */
    atomic_bool leaving;   /* the loop has ended: no more notifications */
    atomic_uint notifying; /* notifications under way */
    atomic_uint listings;  /* so many more give the attributes of files */
};

static struct tfs_session *session_of(fuse_req_t req)
{
    return ((struct tfs_fuse *)fuse_req_userdata(req))->session;
}

static void file_looked_at(fuse_req_t req)
{
    struct tfs_fuse *fuse = fuse_req_userdata(req);

    atomic_store_explicit(&fuse->listings, LISTINGS, memory_order_relaxed);
}

static struct tfs_handle *handle_of(const struct fuse_file_info *fi)
{
    return fi != NULL ? (struct tfs_handle *)(uintptr_t)fi->fh : NULL;
}

static struct fuse_entry_param entry_of(const struct tfs_attr *attr)
{
    double timeout = attr->changing ? 0 : TIMEOUT;

    return (struct fuse_entry_param){.ino = attr->id,
                                     .attr = attr->st,
                                     .attr_timeout = timeout,
                                     .entry_timeout = attr->renames ? 0 : TIMEOUT};
}

/* ---- replies --------------------------------------------------------------------------------- */

static void reply_entry(fuse_req_t req, int result, const struct tfs_attr *attr)
{
    if (result < 0) {
        fuse_reply_err(req, -result);
        return;
    }
    struct tfs_session *session = session_of(req); /* the reply frees the request */
    struct fuse_entry_param entry = entry_of(attr);
    if (fuse_reply_entry(req, &entry) == -ENOENT)
        tfs_session_forget(session, attr->id, 1);
}

static void done_err(void *arg, int result, const struct tfs_attr *attr)
{
    (void)attr;
    fuse_reply_err(arg, -result);
}

static void done_entry(void *arg, int result, const struct tfs_attr *attr)
{
    reply_entry(arg, result, attr);
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
    reply_entry(req, result, &attr);
}

static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
    tfs_session_forget(session_of(req), ino, count);
    fuse_reply_none(req);
}

static void on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        tfs_session_forget(session_of(req), forgets[i].ino, forgets[i].nlookup);
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

    reply_entry(req, result, &attr);
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

    (void)fi;
    int result = tfs_session_getattr(session_of(req), ino, &attr);
    if (result == 0 && S_ISREG(attr.st.st_mode))
        file_looked_at(req);
    done_attr(req, result, &attr);
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *values, int to_set,
                       struct fuse_file_info *fi)
{
    static const struct {
        int fuse;
        unsigned set;
    } flags[] = {
        {FUSE_SET_ATTR_MODE, TFS_SET_MODE},   {FUSE_SET_ATTR_UID, TFS_SET_UID},
        {FUSE_SET_ATTR_GID, TFS_SET_GID},     {FUSE_SET_ATTR_SIZE, TFS_SET_SIZE},
        {FUSE_SET_ATTR_ATIME, TFS_SET_ATIME}, {FUSE_SET_ATTR_MTIME, TFS_SET_MTIME},
    };
    unsigned set = 0;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        set |= (to_set & flags[i].fuse) != 0 ? flags[i].set : 0;
    if ((to_set & FUSE_SET_ATTR_ATIME_NOW) != 0)
        values->st_atim.tv_nsec = UTIME_NOW;
    if ((to_set & FUSE_SET_ATTR_MTIME_NOW) != 0)
        values->st_mtim.tv_nsec = UTIME_NOW;
    tfs_session_setattr(session_of(req), ino, handle_of(fi), values, set,
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

/* An open that waits for the worker to look at a save that changed on disk. */
struct waiting_open {
    fuse_req_t req;
    fuse_ino_t ino;
    struct fuse_file_info fi;
};

static void open_now(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct tfs_handle *handle = NULL;
    bool keep = false;
    int result = tfs_session_open_file(session_of(req), ino, fi->flags, fuse_req_ctx(req)->pid,
                                       &handle, &keep);

    if (result < 0) {
        fuse_reply_err(req, -result);
        return;
    }
    fi->fh = (uintptr_t)handle;
    fi->keep_cache = keep;
    /* Nothing to flush for a handle that cannot have written. */
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY && (fi->flags & O_TRUNC) == 0;
    struct tfs_session *session = session_of(req);
    if (fuse_reply_open(req, fi) == -ENOENT)
        tfs_session_release(session, handle);
}

static void open_waited(void *arg)
{
    struct waiting_open *open = arg;

    open_now(open->req, open->ino, &open->fi);
    free(open);
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    const struct tfs_fuse *fuse = fuse_req_userdata(req);

    if (fuse->skip_open) {
        fuse_reply_err(req, ENOSYS); /* the kernel never asks again, and keeps its cache */
        return;
    }
    if (tfs_session_current(fuse->session, ino)) {
        open_now(req, ino, fi);
        return;
    }
    struct waiting_open *open = malloc(sizeof(*open));
    if (open != NULL)
        *open = (struct waiting_open){req, ino, *fi};
    if (open == NULL || tfs_session_after_check(fuse->session, ino, open_waited, open) < 0) {
        free(open);
        fuse_reply_err(req, ENOMEM);
    }
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
    struct fuse_entry_param entry = entry_of(&attr);
    if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
        tfs_session_release(session, handle);
        tfs_session_forget(session, attr.id, 1);
    }
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    struct tfs_blob *hold = NULL;
    struct tfs_span bytes = {0};

    file_looked_at(req);
    int result = tfs_session_read(session_of(req), ino, handle_of(fi), (uint64_t)offset, size,
                                  &hold, &bytes);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_buf(req, (const char *)bytes.data, bytes.size);
    tfs_blob_unref(hold);
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)ino;
    struct tfs_span bytes = {(const uint8_t *)data, size};
    int result = tfs_session_write(session_of(req), handle_of(fi), fuse_req_ctx(req)->pid,
                                   (uint64_t)offset, bytes, fi->writepage);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_write(req, size);
}

static void on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    if (handle_of(fi) == NULL) {
        fuse_reply_err(req, ENOSYS); /* files were not opened: nothing is ever flushed */
        return;
    }
    tfs_session_flush(session_of(req), handle_of(fi), fuse_req_ctx(req)->pid,
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
    bool plus;
};

static bool fill_entry(void *arg, const struct tfs_dirent *entry)
{
    struct filling *f = arg;
    size_t left = f->size - f->used;
    size_t need;

    if (f->plus) {
        struct fuse_entry_param param = {.attr = entry->attr.st};
        if (entry->known)
            param = entry_of(&entry->attr);
        need = fuse_add_direntry_plus(f->req, f->data + f->used, left, entry->name, &param,
                                      (off_t)entry->next);
    } else {
        need = fuse_add_direntry(f->req, f->data + f->used, left, entry->name, &entry->attr.st,
                                 (off_t)entry->next);
    }
    if (need > left)
        return false;
    f->used += need;
    return true;
}

static enum tfs_listed attributes_for(struct tfs_fuse *fuse, bool plus, off_t offset)
{
    unsigned left = atomic_load_explicit(&fuse->listings, memory_order_relaxed);

    if (!plus)
        return TFS_LISTED_NONE;
    while (offset == 0 && left > 0 &&
           !atomic_compare_exchange_weak(&fuse->listings, &left, left - 1))
        ;
    return left > 0 ? TFS_LISTED_ALL : TFS_LISTED_DIRECTORIES;
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
    struct tfs_fuse *fuse = fuse_req_userdata(req);
    struct filling f = {.req = req, .data = malloc(size), .size = size, .plus = plus};
    int result = -ENOMEM;

    if (f.data != NULL)
        result = tfs_session_read_directory(fuse->session, ino, (uint64_t)offset,
                                            attributes_for(fuse, plus, offset), fill_entry, &f);
    if (result < 0)
        fuse_reply_err(req, -result);
    else
        fuse_reply_buf(req, f.data, f.used);
    free(f.data);
}

static void on_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    const struct tfs_fuse *fuse = fuse_req_userdata(req);
    fi->keep_cache = 1;
    fi->cache_readdir = 1;
    if (fuse->skip_opendir)
        fuse_reply_err(req, ENOSYS); /* the kernel never asks again, and keeps its cache */
    else
        fuse_reply_open(req, fi);
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

static void on_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    (void)datasync;
    (void)fi;
    tfs_session_fsync_directory(session_of(req), ino, (struct tfs_reply){done_err, req});
}

/* ---- mounting -------------------------------------------------------------------------------- */

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
    struct tfs_fuse *fuse = userdata;
    unsigned wanted = FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS | FUSE_CAP_NO_OPENDIR_SUPPORT |
                      FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ;

    conn->want |= conn->capable & wanted;
    /* Attributes come with every readdir; stale pages are invalidated by us, not guessed from
     * mtime. */
    conn->want &= ~(unsigned)(FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA |
                              FUSE_CAP_WRITEBACK_CACHE);
    conn->time_gran = 1;
    conn->max_read = fuse->max_read; /* libfuse refuses the mount where this and -o differ */
    fuse->initialized = true;
    fuse->skip_open = fuse->read_only && (conn->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
    fuse->skip_opendir = (conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = on_lookup,
    .forget = on_forget,
    .forget_multi = on_forget_multi,
    .getattr = on_getattr,
    .setattr = on_setattr,
    .readlink = on_readlink,
    .mkdir = on_mkdir,
    .unlink = on_unlink,
    .rmdir = on_rmdir,
    .symlink = on_symlink,
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
    .fsyncdir = on_fsyncdir,
    .statfs = on_statfs,
};

/* fsname may hold commas, which separate options. */
static char *escape_commas(const char *text)
{
    char *out = malloc(2 * strlen(text) + 1);
    char *at = out;

    for (; out != NULL && *text != '\0'; text++) {
        if (*text == ',' || *text == '\\')
            *at++ = '\\';
        *at++ = *text;
    }
    if (out != NULL)
        *at = '\0';
    return out;
}

/* -o for libfuse. The user's options come last and win. */
static char *join_options(const struct tfs_fuse_options *options)
{
    char max_read[32] = "", *joined = NULL;
    char *source = escape_commas(options->source);

    if (options->max_read > 0)
        snprintf(max_read, sizeof(max_read), ",max_read=%u", options->max_read);
    if (source == NULL ||
        tfs_print(&joined, "subtype=%s,default_permissions,noexec,nosuid,nodev%s%s,fsname=%s%s%s",
                  TFS_MOUNT_SUBTYPE, max_read, options->read_only ? ",ro" : "", source,
                  options->fuse_options ? "," : "",
                  options->fuse_options ? options->fuse_options : "") < 0)
        joined = NULL;
    free(source);
    return joined;
}

static int make_args(const struct tfs_fuse_options *options, struct fuse_args *args)
{
    char *joined = join_options(options);
    int result = joined == NULL || fuse_opt_add_arg(args, "terrainfs") < 0 ||
                         fuse_opt_add_arg(args, "-o") < 0 || fuse_opt_add_arg(args, joined) < 0 ||
                         (options->debug && fuse_opt_add_arg(args, "-d") < 0)
                     ? -ENOMEM
                     : 0;

    free(joined);
    return result;
}

/* What libfuse logs until requests are served. Why something fails it says in no other way. */
static char heard[TFS_ERROR_TEXT / 2];

static void on_log(enum fuse_log_level level, const char *format, va_list args)
{
    size_t used = strlen(heard);

    if (level != FUSE_LOG_DEBUG)
        vsnprintf(heard + used, sizeof(heard) - used, format, args);
    else
        vfprintf(stderr, format, args);
}

static void log_to_stderr(enum fuse_log_level level, const char *format, va_list args)
{
    (void)level;
    vfprintf(stderr, format, args);
}

static int fail_heard(int code, const char *what, struct tfs_error *err)
{
    heard[strcspn(heard, "\n")] = '\0';
    const char *why = strncmp(heard, "fuse: ", 6) == 0 ? heard + 6 : heard;
    return tfs_fail(err, code, "%s%s%s", what, *why != '\0' ? ": " : "", why);
}

static void on_wake(int signal)
{
    (void)signal;
}

/* The signals that end the loop wait for it from here on, in the threads that are started too. What
 * is ignored (by nohup, for example) stays so. */
static void hold_signals(struct tfs_fuse *fuse)
{
    static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
    const struct sigaction wake = {.sa_handler = on_wake};
    struct sigaction action;

    signal(SIGPIPE, SIG_IGN);
    sigaction(WAKE, &wake, NULL);
    sigemptyset(&fuse->signals);
    sigaddset(&fuse->signals, WAKE);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&fuse->signals, ends[i]);
    pthread_sigmask(SIG_BLOCK, &fuse->signals, NULL);
}

static int open_session(const struct tfs_fuse_options *options, struct tfs_fuse *fuse,
                        struct tfs_error *err)
{
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

    heard[0] = '\0';
    fuse_set_log_func(on_log);
    if (make_args(options, &args) < 0)
        tfs_fail_memory(err);
    else
        fuse->se = fuse_session_new(&args, &operations, sizeof(operations), fuse);
    if (err->code == 0 && fuse->se == NULL)
        fail_heard(-EINVAL, "the mount options cannot be used", err);
    fuse_opt_free_args(&args);
    return err->code;
}

int tfs_fuse_open(const struct tfs_fuse_options *options, struct tfs_fuse **out,
                  struct tfs_error *err)
{
    struct tfs_fuse *fuse = calloc(1, sizeof(*fuse));

    if (fuse == NULL)
        return tfs_fail_memory(err);
    fuse->read_only = options->read_only;
    fuse->max_read = options->max_read;
    fuse->threads = options->threads;
    fuse->servers = calloc(options->threads, sizeof(*fuse->servers));
    if (fuse->servers == NULL)
        tfs_fail_memory(err);
    if (err->code < 0 || open_session(options, fuse, err) < 0) {
        tfs_fuse_close(fuse);
        return err->code;
    }
    hold_signals(fuse);
    *out = fuse;
    return 0;
}

void tfs_fuse_attach(struct tfs_fuse *fuse, struct tfs_session *session)
{
    fuse->session = session;
}

/* ---- serving --------------------------------------------------------------------------------- */

/* Serves the next request: 1; 0: it is unmounted; or negative. The first call makes the room. */
static int serve_one(struct tfs_fuse *fuse, struct fuse_buf *buf)
{
    int received = fuse_session_receive_buf(fuse->se, buf);

    if (received > 0)
        fuse_session_process_buf(fuse->se, buf);
    return received > 0 ? 1 : received;
}

/* Ends between two requests only, so that each that was taken is answered. */
static void *serve(void *arg)
{
    struct server *server = arg;
    struct tfs_fuse *fuse = server->fuse;
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, WAKE);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
    while (!atomic_load(&fuse->ended)) {
        int result = serve_one(fuse, &server->buf);
        if (result > 0 || result == -EINTR || result == -EAGAIN)
            continue;
        atomic_store(&fuse->result, result);
        tfs_fuse_end(fuse);
    }
    return NULL;
}

static int set_blocking(const struct tfs_fuse *fuse, bool blocking)
{
    int fd = fuse_session_fd(fuse->se);
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return -errno;
    return fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) < 0 ? -errno : 0;
}

/* INIT, the kernel's first request, was sent when it mounted. */
static int answer_init(struct tfs_fuse *fuse, struct tfs_error *err)
{
    int result = 1;

    while (!fuse->initialized && (result > 0 || result == -EINTR))
        result = serve_one(fuse, &fuse->servers[0].buf);
    if (result == -ENOMEM)
        return tfs_fail_memory(err);
    if (!fuse->initialized || fuse_session_exited(fuse->se))
        return fail_heard(-EIO, "the kernel and this libfuse do not agree on how to serve it", err);
    return 0;
}

/* Room for a request for each server: one that found none when it was needed would end the mount.
 * With too little memory there are fewer servers. */
static int make_room(struct tfs_fuse *fuse, struct tfs_error *err)
{
    unsigned count = 1;

    if (set_blocking(fuse, false) < 0)
        return tfs_fail_errno(err, "/dev/fuse cannot be read without waiting");
    for (; count < fuse->threads; count++) {
        struct fuse_buf *buf = &fuse->servers[count].buf;
        (void)serve_one(fuse, buf);
        if (buf->mem == NULL)
            break;
    }
    fuse->threads = count;
    return set_blocking(fuse, true) < 0 ? tfs_fail_errno(err, "/dev/fuse cannot be waited for") : 0;
}

static int start_servers(struct tfs_fuse *fuse, struct tfs_error *err)
{
    int result = 0;

    fuse->waiter = pthread_self();
    for (; fuse->started < fuse->threads && result == 0; fuse->started += result == 0) {
        struct server *server = &fuse->servers[fuse->started];
        server->fuse = fuse;
        result = pthread_create(&server->thread, NULL, serve, server);
    }
    if (fuse->started == 0)
        return tfs_fail(err, -result, "no thread can be started to serve it: %s (ulimit -v, -u)",
                        strerror(result));
    return 0;
}

/* A server that waits for a request is woken, and one that is about to wait does not. */
static void stop_servers(struct tfs_fuse *fuse)
{
    atomic_store(&fuse->ended, true);
    (void)set_blocking(fuse, false);
    for (unsigned i = 0; i < fuse->started; i++)
        pthread_kill(fuse->servers[i].thread, WAKE);
    for (; fuse->started > 0; fuse->started--)
        pthread_join(fuse->servers[fuse->started - 1].thread, NULL);
}

int tfs_fuse_mount(struct tfs_fuse *fuse, const char *mountpoint, struct tfs_error *err)
{
    if (fuse_session_mount(fuse->se, mountpoint) < 0)
        return fail_heard(-EIO, "cannot be mounted", err);
    if (answer_init(fuse, err) < 0 || make_room(fuse, err) < 0)
        return err->code;
    fuse_set_log_func(log_to_stderr);
    return start_servers(fuse, err);
}

/* A notification may wait for a page that a request still in the kernel's queue holds: answers such
 * requests until no notification is under way. */
static void drain(struct tfs_fuse *fuse)
{
    while (atomic_load(&fuse->notifying) > 0) {
        struct pollfd fd = {.fd = fuse_session_fd(fuse->se), .events = POLLIN};
        if (poll(&fd, 1, 10) > 0 && (fd.revents & POLLIN) != 0)
            (void)serve_one(fuse, &fuse->servers[0].buf);
    }
}

void tfs_fuse_end(struct tfs_fuse *fuse)
{
    atomic_store(&fuse->ended, true);
    pthread_kill(fuse->waiter, WAKE);
}

bool tfs_fuse_ended(const struct tfs_fuse *fuse)
{
    sigset_t pending;

    sigpending(&pending);
    sigandset(&pending, &pending, &fuse->signals);
    return atomic_load(&fuse->ended) || !sigisemptyset(&pending);
}

int tfs_fuse_loop(struct tfs_fuse *fuse)
{
    int signal = WAKE;

    while (signal == WAKE && !atomic_load(&fuse->ended))
        sigwait(&fuse->signals, &signal);
    stop_servers(fuse);
    atomic_store(&fuse->leaving, true);
    drain(fuse);
    return atomic_load(&fuse->result);
}

void tfs_fuse_close(struct tfs_fuse *fuse)
{
    if (fuse == NULL)
        return;
    if (fuse->se != NULL) {
        fuse_session_unmount(fuse->se); /* harmless when it is not mounted any more */
        fuse_session_destroy(fuse->se);
    }
    for (unsigned i = 0; fuse->servers != NULL && i < fuse->threads; i++)
        free(fuse->servers[i].buf.mem);
    free(fuse->servers);
    free(fuse);
}

void tfs_fuse_invalidate(void *arg, uint64_t id)
{
    struct tfs_fuse *fuse = arg;

    atomic_fetch_add(&fuse->notifying, 1);
    /* Looked at after the count went up: the end of the loop waits for the count. */
    if (!atomic_load(&fuse->leaving))
        (void)fuse_lowlevel_notify_inval_inode(fuse->se, id, 0, 0);
    atomic_fetch_sub(&fuse->notifying, 1);
}
