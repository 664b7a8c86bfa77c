/*
 * A session: a save, or several, being shown and edited through names, inodes and handles. It puts
 * together what its modules do: stores (documents and commits), views (sizes, times, bytes), drafts
 * (what is being written), names (what is hidden), scratch files and what was rejected.
 * Knows no FUSE and no format: front ends call it with ids and handles, formats are behind lens and
 * container.
 *
 * Ids. The root is 1. The id of a file is one text, which never changes (inode.h): computed
 * (fs/tree/tree.h) for one that reads as it did at the beginning, and for directories; else from a
 * table. Lookup, create, mkdir and symlink count as one lookup of the id that they give, which
 * tfs_session_forget takes back.
 *
 * Threads. Any call may come from any thread. Calls that can lead to a commit do not wait: they
 * take a `struct tfs_reply` and answer through it, from another thread or before they return,
 * exactly once. All others return their answer; some wait for bytes to be rendered or for chunks to
 * be read. A negative return is a negative errno.
 */
#ifndef TFS_FS_SESSION_SESSION_H
#define TFS_FS_SESSION_SESSION_H

#include <sys/statvfs.h>
#include <time.h>

#include "fs/store/store.h"
#include "fs/tree/tree.h"

struct tfs_session_options {
    bool read_only;
    bool commit_auto;        /* of struct tfs_store_options */
    uint64_t scratch_limit;  /* bytes of all scratch files together */
    uint64_t cache_limit;    /* bytes of rendered files */
    size_t changes_limit;    /* files whose times and changes are known one by one; 0: the usual */
    uint64_t rejected_limit; /* bytes of .terrainfs/rejected; 0: the usual */
    unsigned linger_ms;      /* until a directory, and all of them, are at rest; 0: two seconds */
    bool keep_times;         /* fs/tree/kept_times.h */
    int exit_fd;             /* shown in .terrainfs/status as `umount-pipe`, -1: none */
};

/* What the session asks of its front end; each may be NULL. None may wait for a call that the front
 * end makes. */
struct tfs_events {
    /* The names of files that were kept are stale. With the session's lock. */
    void (*changed)(void *arg);
    void (*invalidate)(void *arg, uint64_t id);   /* attributes and listing of a directory */
    void *caches;                                 /* arg of both */
    void (*message)(void *arg, const char *line); /* one line for stderr or syslog */
    void *message_arg;
};

struct tfs_session;
struct tfs_handle; /* an open file */

struct tfs_attr {
    uint64_t id;
    struct stat st;
    bool changing; /* attributes are not to be kept: somebody is writing it, or a control file */
    bool lasts;    /* the name may be kept: of a directory; of a file that nobody edited until
                    * something changes */
};

struct tfs_reply {
    void (*done)(void *arg, int result,
                 const struct tfs_attr *attr); /* attr: mkdir, setattr; else NULL */
    void *arg;
};

/* Several saves in one tree: each is shown below a path of its own, of which none is the beginning
 * of another; and each has its own thread, lock, conflicts and read-only reason. Nothing is moved
 * from one to another (EXDEV). */
struct tfs_session_part {
    const char *path; /* "zones/overworld": plain names, joined by slashes; "": the only one */
    struct tfs_save *save;
};

/* Takes over the saves (closed by tfs_session_close) and starts their threads; none is taken over
 * when it fails. */
int tfs_session_open_many(const struct tfs_session_part *parts, size_t count,
                          const struct tfs_session_options *options,
                          const struct tfs_events *events, struct tfs_session **session,
                          struct tfs_error *err);

/* The same for one save. */
static inline int tfs_session_open(struct tfs_save *save, const struct tfs_session_options *options,
                                   const struct tfs_events *events, struct tfs_session **session,
                                   struct tfs_error *err)
{
    const struct tfs_session_part part = {"", save};

    return tfs_session_open_many(&part, 1, options, events, session, err);
}

/* A file at the root that nobody can change, with these bytes: what stands beside several saves.
 * Comes before the first call of a front end. */
int tfs_session_add_file(struct tfs_session *session, const char *name, struct tfs_span bytes);

/* Checks what was written, commits, and stores what cannot be saved beside the save. 0: everything
 * that was written is in the save; else 3. Front end calls must have ended. */
int tfs_session_finish(struct tfs_session *session);
/* What could not be saved or was refused, and where it is now, or which scratch files went with the
 * session, as a sentence; NULL: there is none. The session's. */
const char *tfs_session_left(const struct tfs_session *session);
void tfs_session_close(struct tfs_session *session);

/* ---- names ---- */
int tfs_session_lookup(struct tfs_session *session, uint64_t parent, const char *name,
                       struct tfs_attr *attr);
void tfs_session_forget(struct tfs_session *session, uint64_t id, uint64_t count);
void tfs_session_mkdir(struct tfs_session *session, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, struct tfs_reply reply);
void tfs_session_rmdir(struct tfs_session *session, uint64_t parent, const char *name,
                       struct tfs_reply reply);
int tfs_session_unlink(struct tfs_session *session, uint64_t parent, const char *name);
void tfs_session_rename(struct tfs_session *session, uint64_t parent, const char *name,
                        uint64_t new_parent, const char *new_name, bool no_replace,
                        struct tfs_reply reply);
int tfs_session_symlink(struct tfs_session *session, uint64_t parent, const char *name,
                        const char *target, uid_t uid, gid_t gid, struct tfs_attr *attr);
/* The target, malloc'ed. */
int tfs_session_readlink(struct tfs_session *session, uint64_t id, char **target);

/* ---- attributes ---- */
enum tfs_set {
    TFS_SET_MODE = 1,
    TFS_SET_UID = 2,
    TFS_SET_GID = 4,
    TFS_SET_SIZE = 8,
    TFS_SET_ATIME = 16,
    TFS_SET_MTIME = 32,
};

/* handle: of whom the kernel asks for, who sees his draft; NULL: nobody's. */
int tfs_session_getattr(struct tfs_session *session, uint64_t id, struct tfs_handle *handle,
                        struct tfs_attr *attr);
/* `values` as st_mode, st_uid, st_gid, st_size, st_atim, st_mtim, chosen by `set`. handle: NULL
 * when the caller has no open file; setting the size without one is a commit point. */
void tfs_session_setattr(struct tfs_session *session, uint64_t id, struct tfs_handle *handle,
                         const struct stat *values, unsigned set, struct tfs_reply reply);

/* ---- files ---- */
/* flags: O_ACCMODE, O_APPEND and O_TRUNC count. *keep: what a cache holds of this id is true.
 * ESTALE: the file reads differently than the id, or somebody has this id who must not share it;
 * once the name was looked up again there is an id that can be opened. */
int tfs_session_open_file(struct tfs_session *session, uint64_t id, int flags,
                          struct tfs_handle **handle, bool *keep);
/* The text of a file that was just opened for reading, to be given to the kernel: a reference.
 * NULL: it has it, others have the file open, or READs shall ask for it. */
struct tfs_blob *tfs_session_give_text(struct tfs_session *session, struct tfs_handle *handle);
int tfs_session_create(struct tfs_session *session, uint64_t parent, const char *name, mode_t mode,
                       uid_t uid, gid_t gid, int flags, struct tfs_handle **handle,
                       struct tfs_attr *attr);
/* Must what is read and written through this handle pass by the caches that all share? So it is
 * where a text or picture is written. */
bool tfs_session_is_direct(const struct tfs_handle *handle);
/* owner: as the kernel numbers those who share descriptors, for whom what the handle wrote is read;
 * 0: it is read for a cache. *bytes stay valid while *hold is referenced (the caller unrefs it). */
int tfs_session_read(struct tfs_session *session, struct tfs_handle *handle, uint64_t owner,
                     uint64_t offset, size_t size, struct tfs_blob **hold, struct tfs_span *bytes);
/* These bytes were given to the kernel: gets ready what comes next, if the file is one for that. By
 * a thread that need not answer anything now. */
void tfs_session_read_ahead(struct tfs_session *session, uint64_t id, uint64_t offset, size_t size);
/* from_cache: pages of a mapping, which lie where they lie; else a handle opened with O_APPEND
 * writes at the end, whatever `offset` is. owner: 0: not known. */
int tfs_session_write(struct tfs_session *session, struct tfs_handle *handle, uint64_t owner,
                      uint64_t offset, struct tfs_span bytes, bool from_cache);
/* A commit point, if this owner wrote since the last one. */
void tfs_session_flush(struct tfs_session *session, struct tfs_handle *handle, uint64_t owner,
                       struct tfs_reply reply);
void tfs_session_fsync(struct tfs_session *session, struct tfs_handle *handle,
                       struct tfs_reply reply);
void tfs_session_release(struct tfs_session *session, struct tfs_handle *handle);

/* ---- directories ---- */
struct tfs_dirent {
    const char *name;
    uint64_t next;        /* offset that continues behind this entry */
    struct tfs_attr attr; /* as of a lookup; id 0: only st_ino and the type in st_mode */
};

/* Gives one entry; returns false when the caller's buffer is full (the entry is then not taken). */
typedef bool (*tfs_dirent_fn)(void *arg, const struct tfs_dirent *entry);

/* Entries from `offset` on (0: the first). Offsets stay valid while entries come and go, so a
 * directory needs no opening. files: their attributes are wanted, too, which takes their sizes. */
int tfs_session_read_directory(struct tfs_session *session, uint64_t id, uint64_t offset,
                               bool files, tfs_dirent_fn give, void *arg);
/* Did nothing change yet, so that a listing may be kept? */
bool tfs_session_is_as_read(struct tfs_session *session);
/* Stores unlinked optional files of the directory as absent, and commits. */
void tfs_session_fsync_directory(struct tfs_session *session, uint64_t id, struct tfs_reply reply);

/* ---- the save ---- */
int tfs_session_statfs(struct tfs_session *session, struct statvfs *st);

/* Is the save of this file still the one that was read, and can it be read? If not, an open has it
 * looked at before: 0, or -ENOMEM. Also waits for what releases left to do. */
bool tfs_session_current(struct tfs_session *session, uint64_t id);
int tfs_session_look(struct tfs_session *session, uint64_t id);

#endif
