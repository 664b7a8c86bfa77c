/*
 * What a session is made of. Private to the files of the session:
 *
 *   session.c   opening, closing, messages, statfs
 *   inodes.c    ids, scratch names (links.h), lifetimes
 *   content.c   rendering, attributes, times
 *   names.c     lookup, unlink, mkdir, rmdir
 *   groups.c    directories of groups that users made or emptied
 *   rename.c    rename
 *   listing.c   reading directories
 *   files.c     open, create, read, write, flush, release, setattr
 *   edits.c     judging documents, chunk operations
 *   closing.c   what closes, truncates and renames onto files of the schema judge
 *   adopt.c     showing another document, taking edits back
 *   worker.c    the queue, commits, timers
 *   answers.c   invalidations, then replies
 *   outside.c   changes behind our back, reload
 *   keep.c      errors.log, rejected/
 *   unsaved.c   NAME.unsaved-DATE/
 *
 * Invariants:
 *  1. `lock` guards everything here; functions ending in _locked want it held. The worker thread
 * alone changes `doc` and `disk` and calls the save's commit and reload, never while it holds the
 * lock.
 *  2. `doc` is what files show, `disk` what the save holds. They differ while edits wait for a
 * commit.
 *  3. A virtual inode with `pending` shows `bytes`; without, what the lens renders from `doc`.
 *  4. `dirty` bytes were written after the last judgement. Bytes leave an inode only by being
 * accepted, moved to rejected/, or unlinked by the user.
 *  5. An id never means two files at once: a computed id that went on to live as a scratch file is
 * burned, its schema file gets an id from the table.
 */
#ifndef TFS_FS_STATE_H
#define TFS_FS_STATE_H

#include <pthread.h>

#include "base/map.h"
#include "fs/cache.h"
#include "fs/links.h"
#include "fs/session.h"

enum tfs_inode_kind {
    TFS_INODE_VIRTUAL,   /* a file of the schema */
    TFS_INODE_FILE,      /* scratch */
    TFS_INODE_DIRECTORY, /* scratch */
    TFS_INODE_SYMLINK,   /* scratch; bytes are the target */
};

/* Exists for scratch nodes, for open or pending files of the schema, and for those with a table
 * id. */
struct tfs_inode {
    uint64_t id;
    enum tfs_inode_kind kind;
    struct tfs_node node; /* VIRTUAL: the file it shows. FILE: the file it was, if `grave` */
    uint64_t lookups;     /* by the kernel, of table ids */
    unsigned handles;     /* open, readers included */
    unsigned writers;     /* open for writing */
    unsigned jobs;        /* work in the queue that needs it */
    struct tfs_buf bytes;
    bool pending;    /* VIRTUAL: bytes are a document being written */
    bool dirty;      /* bytes not judged since they were written */
    bool judging;    /* the worker is judging them; refused, they will be dirty again */
    bool complained; /* these very bytes were refused, and the log says so */
    bool kept;       /* bytes of the handles open for writing are in rejected/ */
    bool written;    /* bytes were written, not only cut off */
    bool closing;    /* judged and flushed: the last close is on its way */
    bool control;    /* below .terrainfs: not to be changed by users */
    bool uncapped;   /* rejected bytes: not counted as scratch */
    bool outdated;   /* the save was replaced under this document, and theirs was chosen */
    bool displaced;  /* another file was renamed over it: its bytes stay for late openers */
    bool pinned;     /* pending only to go on showing what it showed, while a rename onto its
                        name is judged */
    bool grave;      /* was unlinked or renamed away while open: its tombstone waits for it */
    /* The last write may be a part of one, whose rest is on its way. */
    int64_t part_until; /* monotonic ms; 0: it is not */
    pid_t part_by;
    mode_t mode; /* scratch: permissions */
    uid_t uid;
    gid_t gid;
    struct timespec atime, mtime, ctime;
    struct tfs_link *link; /* scratch: its name; NULL: it has none */
    uint64_t parent;       /* scratch, linked */
};

/* The scratch names of one directory. */
struct tfs_scratch_names {
    struct tfs_links links;
    size_t directories; /* how many of them are directories */
};

/* When a file's content changed, if it did since the save was read, and what utimens said. */
struct tfs_change {
    uint64_t stamp;      /* grows with every change */
    uint64_t open_stamp; /* the stamp when it was last opened */
    uint64_t told_stamp; /* the stamp when its attributes were last given out */
    struct timespec atime, mtime, ctime;
};

/* A file or directory of the schema that the user removed or renamed away. */
struct tfs_tombstone {
    struct tfs_node node;
    int64_t
        deadline; /* monotonic ms; it shows again then (an optional file: is stored as absent) */
    unsigned holders; /* orphaned inodes that are still open: no end before their last close */
    bool unlinked;    /* or renamed onto another file of the save, which has its content now: no
                         scratch file is the only copy */
    const struct tfs_job *carrier; /* the job whose edit stores it as absent, until that edit is
                                      committed or taken back; NULL: none */
};

/* A chunk directory that was just made. */
struct tfs_fresh {
    bool hidden;          /* names not created yet are absent */
    int64_t deadline;     /* of hiding: two seconds after the last operation in it */
    uint32_t created;     /* bit i: chunk_files[i] was created */
    uint32_t directories; /* bit i: directory TFS_DIR_SUB + i was made */
    uint32_t written;     /* bit i: chunk_files[i] was accepted once */
    struct tfs_blob *waiting[TFS_FILES_MAX]; /* texts that wait for another file of the chunk */
};

struct tfs_handle {
    struct tfs_handle *before, *behind; /* in the session's list */
    struct tfs_inode *inode;
    bool writer;
    bool append;
    bool wrote;            /* since it was opened */
    struct tfs_blob *blob; /* rendered content, as of stamp */
    uint64_t stamp;
};

/* What a name in a directory stands for. At most one of link and schema. */
struct tfs_entry {
    struct tfs_node dir;           /* the directory, if it is one of the schema */
    struct tfs_inode *scratch_dir; /* the directory, if it is a scratch directory */
    struct tfs_link *link;         /* a scratch name, or NULL */
    bool schema;                   /* a name of the schema, `node` */
    bool visible;                  /* schema: it is there now */
    bool coordinate; /* would be a chunk directory: node.key is set, the chunk may be absent */
    struct tfs_node node;
};

struct tfs_job {
    struct tfs_job *next;
    int (*apply)(struct tfs_session *s, struct tfs_job *job); /* by the worker, without the lock */
    void (*settle)(struct tfs_session *s,
                   struct tfs_job *job); /* when all is decided; may be NULL */
    struct tfs_reply reply;
    struct tfs_inode *inode; /* pinned by inode->jobs */
    struct tfs_node node;    /* target: file, chunk or directory; of a barrier: the synced file */
    struct tfs_key to;
    uint64_t parent; /* the directory whose tombstones a barrier ends; of an end: its directory */
    uint64_t size;
    uint64_t id;
    struct tfs_blob *text; /* what was judged */
    bool barrier;          /* the save must be on disk whatever the commit mode is */
    bool patient;          /* waits for the rest of a write that is not by `caller` */
    pid_t caller;          /* if patient */
    int64_t patience_end;  /* monotonic ms; 0: it did not have to wait yet */
    bool urgent;           /* answered before caches are invalidated, see answers.c */
    bool undo;             /* a failed commit takes the edit back: the name operation failed */
    bool edited;           /* the document changed */
    bool carries;          /* the edit stores removed files as absent, see tombstone.carrier */
    struct tfs_doc *before, *after; /* if edited */
    int result;
    bool has_attr;
    struct tfs_attr attr;
    void (*call)(void *arg); /* tfs_session_after_check */
    void *call_arg;
};

/* Who was told ESTALE for which file, and comes back at once. */
struct tfs_retry {
    uint64_t file; /* computed id of a file of the schema, which others may have replaced since */
    pid_t caller;
};

#define TFS_RETRIES 1024

/* The size of a file that was asked for before: the kernel asks again after every read. */
struct tfs_size {
    uint64_t id;
    uint64_t stamp;
    uint64_t size;
};

#define TFS_SIZES 32768

struct tfs_ids {
    uint64_t *ids;
    size_t count, capacity;
};

struct tfs_session {
    pthread_mutex_t lock;
    pthread_cond_t work;   /* the queue, a deadline or stop changed */
    pthread_cond_t closed; /* a handle was released */
    pthread_t thread;
    bool started, stop;

    pthread_mutex_t
        save_lock; /* held by the worker while it uses the save's container; before lock */
    struct tfs_save *save;
    struct stat st; /* owner and mode of the save, as of the last reading or commit */
    struct tfs_session_options options;
    struct tfs_events events;
    struct tfs_doc *doc;
    struct tfs_doc *disk;
    struct timespec base_time; /* mtime of what did not change since the save was read */
    struct timespec last_time; /* of the last change, so that times only grow */
    uint64_t stamp;
    uint64_t base_stamp; /* of what is not in `changes`; 0: nothing was forgotten there */
    int broken;          /* the save on disk cannot be read any more: negative errno */
    bool owed; /* save->doc was read, but could not be shown yet: nothing is edited before */
    size_t rejected_dropped; /* refused texts that were let go for newer ones */
    bool again;    /* a document lost its last writer and could not be judged for want of memory */
    bool stale;    /* it changed under pending edits and nobody decided yet */
    bool gave_way; /* accepted edits went to rejected/, and no barrier was told; the worker's */
    uint64_t commits;
    int64_t commit_deadline; /* 0: none */
    int64_t poll_deadline;
    int exit_status;

    struct tfs_key *keys; /* slot -> coordinate; group UINT32_MAX: gone */
    uint32_t key_count;

    struct tfs_handle *handles; /* open ones: the kernel may go without releasing them */
    struct tfs_map inodes;      /* id -> struct tfs_inode */
    struct tfs_map virtuals;    /* computed id -> struct tfs_inode that shows this file */
    struct tfs_map burned;      /* computed ids that must not be used again */
    struct tfs_map names;       /* directory id -> struct tfs_scratch_names */
    struct tfs_map tombstones;  /* computed id -> struct tfs_tombstone */
    struct tfs_map fresh;       /* slot + 1 -> struct tfs_fresh */
    struct tfs_map groups;      /* computed id of a directory that groups.c keeps -> not NULL */
    struct tfs_map changes;     /* computed id -> struct tfs_change */
    uint64_t next_id;
    uint64_t next_serial;
    uint64_t scratch_used;
    struct tfs_inode *control, *log, *status, *rejected;
    char *unsaved; /* where the end put what could not be saved; NULL: nowhere */
    struct tfs_cache cache;
    struct tfs_size sizes[TFS_SIZES];      /* by id; a newer one takes the place of an older */
    struct tfs_retry retries[TFS_RETRIES]; /* by caller */

    struct tfs_job *queue, **queue_end;
    struct tfs_ids stale_ids; /* to be invalidated before the next replies; the worker's */
    struct tfs_answers *answers, **answers_end; /* for the answering thread (answers.c) */
    unsigned answering;                         /* packages queued or under way */
    bool answers_stop;
    pthread_cond_t answer;
    pthread_t answerer;
};

#define TFS_CONTROL_NAME ".terrainfs"
#define TFS_LINGER_MS    2000
#define TFS_POLL_MS      1000
#define TFS_CLOSING_MS   100
#define TFS_PART_MS      100
#define TFS_PAGE         4096 /* bytes; the pages of every machine end at multiples of it */
#define TFS_CHANGES_MAX  ((size_t)1 << 18)     /* about 30 MB */
#define TFS_REJECTED_MAX (UINT64_C(256) << 20) /* refused texts; older ones go first */
#define TFS_SCRATCH_COST 256 /* bytes that a scratch inode counts beside its content */
/* A pending document may grow to this and four times what the file has now. */
#define TFS_PENDING_MAX (UINT64_C(64) << 20)

/* ---- session.c ---- */
int64_t tfs_now_ms(void);
/* Sets the keys of all slots from the document shown. */
void tfs_keys_set_locked(struct tfs_session *s);
/* One line, whatever foreign names are in it (tfs_sentence_print). */
void tfs_message(struct tfs_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- inodes.c ---- */
struct tfs_inode *tfs_inode_find_locked(struct tfs_session *s, uint64_t id);
/* A new scratch inode, not linked; NULL without memory. */
struct tfs_inode *tfs_inode_create_locked(struct tfs_session *s, enum tfs_inode_kind kind,
                                          mode_t mode, uid_t uid, gid_t gid);
/* The inode of a schema file, made if there is none; NULL without memory. */
struct tfs_inode *tfs_inode_of_node_locked(struct tfs_session *s, const struct tfs_node *node);
/* The id that shows this node, which may make a table inode; 0 without memory. */
uint64_t tfs_node_id_locked(struct tfs_session *s, const struct tfs_node *node);
/* The id if the node has been given one; for invalidation. */
uint64_t tfs_node_known_id_locked(struct tfs_session *s, const struct tfs_node *node);
/* Frees the inode when nothing refers to it any more. */
void tfs_inode_drop_locked(struct tfs_session *s, struct tfs_inode *inode);
void tfs_inode_forget_bytes_locked(struct tfs_session *s, struct tfs_inode *inode);
/* Makes a virtual inode a scratch file with the bytes `content`, so that its schema name is
 * free. */
int tfs_inode_detach_locked(struct tfs_session *s, struct tfs_inode *inode,
                            struct tfs_span content);
/* Makes `inode` the one that shows `node`, in place of any other. */
int tfs_inode_attach_locked(struct tfs_session *s, struct tfs_inode *inode,
                            const struct tfs_node *node);
/* Resizes the scratch content within the cap: 0, -ENOSPC, -ENOMEM. */
int tfs_inode_resize_locked(struct tfs_session *s, struct tfs_inode *inode, uint64_t size);

struct tfs_link *tfs_link_find_locked(struct tfs_session *s, uint64_t parent, const char *name);
/* The first name of a directory whose serial is not below that; NULL: there is none. */
struct tfs_link *tfs_link_from_locked(struct tfs_session *s, uint64_t parent, uint64_t serial);
/* A name that is free. */
int tfs_link_add_locked(struct tfs_session *s, uint64_t parent, const char *name,
                        struct tfs_inode *inode);
/* A name that may be another file's, *replaced, who then has none: NULL: it was free. */
int tfs_link_replace_locked(struct tfs_session *s, uint64_t parent, const char *name,
                            struct tfs_inode *inode, struct tfs_inode **replaced);
/* Gives a file that has a name another one, in the place of a file that has it now; or nothing is
 * done. */
int tfs_link_move_locked(struct tfs_session *s, struct tfs_inode *inode, uint64_t new_parent,
                         const char *new_name);
/* Takes the name away; the inode stays for whoever has it open. */
void tfs_link_remove_locked(struct tfs_session *s, struct tfs_link *link);
bool tfs_links_empty_locked(struct tfs_session *s, uint64_t parent);
/* Scratch directories in a directory. */
size_t tfs_link_directories_locked(struct tfs_session *s, uint64_t parent);
void tfs_inodes_release(struct tfs_session *s);

/* The schema node of an id, with its key; -ESTALE when it is gone, -ENOENT when it is a scratch
 * node. */
int tfs_id_node_locked(struct tfs_session *s, uint64_t id, struct tfs_node *node);

/* ---- files.c ---- */
void tfs_handles_release(struct tfs_session *s);

/* ---- content.c ---- */
/* What the file shows without pending bytes. Lets go of the lock while it renders. */
int tfs_content_locked(struct tfs_session *s, const struct tfs_node *node, struct tfs_blob **blob,
                       struct tfs_error *err);
uint64_t tfs_stamp_locked(struct tfs_session *s, const struct tfs_node *node);
/* Made if there is none; NULL without memory. The table is capped: making one may forget all
 * others, which then count as changed. */
struct tfs_change *tfs_change_locked(struct tfs_session *s, uint64_t computed_id);
/* What is known of a file; NULL: it did not change since the save was read, or (base_stamp is not 0
 * then) nothing is known. */
struct tfs_change *tfs_change_known_locked(struct tfs_session *s, uint64_t computed_id);
/* Content changed: new stamp, mtime and ctime. */
void tfs_bump_locked(struct tfs_session *s, const struct tfs_node *node);
/* The same content reads differently: new stamp, times as they are. */
void tfs_bump_stamp_locked(struct tfs_session *s, const struct tfs_node *node);
struct timespec tfs_now_locked(struct tfs_session *s);
int tfs_attr_inode_locked(struct tfs_session *s, struct tfs_inode *inode, struct tfs_attr *attr);
int tfs_attr_node_locked(struct tfs_session *s, const struct tfs_node *node, bool cheap,
                         struct tfs_attr *attr);
/* Waits a moment for a close that is on its way, so that the canonical text is seen behind it. */
void tfs_await_close_locked(struct tfs_session *s, uint64_t id);

/* ---- names.c ---- */
/* Is the name there now: 1 or 0? Negative as of tfs_node_exists. */
int tfs_visible_locked(struct tfs_session *s, const struct tfs_node *node);
struct tfs_fresh *tfs_fresh_locked(struct tfs_session *s, const struct tfs_node *node);
struct tfs_tombstone *tfs_tombstone_locked(struct tfs_session *s, const struct tfs_node *node);
int tfs_tombstone_add_locked(struct tfs_session *s, const struct tfs_node *node);
void tfs_tombstone_remove_locked(struct tfs_session *s, const struct tfs_node *node);
/* The name is there again: tombstone gone, no longer hidden. */
void tfs_reveal_locked(struct tfs_session *s, const struct tfs_node *node);
void tfs_fresh_remove_locked(struct tfs_session *s, uint32_t slot);
/* Something was done in the directory of a new chunk: its absent names stay hidden a while
 * longer. */
void tfs_fresh_touch_locked(struct tfs_session *s, const struct tfs_node *node);
/* -ESTALE, -ENOTDIR, -ENAMETOOLONG for the directory or the name itself; else 0, *entry may be
 * empty. */
int tfs_entry_find_locked(struct tfs_session *s, uint64_t parent, const char *name,
                          struct tfs_entry *entry);
/* May a scratch node be made here? 0, -EINVAL (a name that is kept for chunks), -EROFS. */
int tfs_entry_free_for_scratch(struct tfs_session *s, const struct tfs_entry *entry,
                               const char *name, bool directory);
/* The schema file goes away for now: 1 if it is open, and keeps what it shows as an orphan; else 0.
 * May let go of the lock. */
int tfs_bury_locked(struct tfs_session *s, const struct tfs_node *node);
/* Path of an id from the root, for people. */
void tfs_path_locked(struct tfs_session *s, uint64_t id, struct tfs_buf *out);
/* 1 or 0; negative as of tfs_node_exists. */
int tfs_directory_empty_locked(struct tfs_session *s, const struct tfs_node *dir);
/* Logs why the name is refused, and returns err->code. Lets go of the lock while it does. */
int tfs_refuse_name_locked(struct tfs_session *s, uint64_t parent, const char *name,
                           const struct tfs_error *err);

/* Was every file of the new chunk that always exists accepted once? */
bool tfs_fresh_complete(const struct tfs_session *s, const struct tfs_fresh *fresh);

/* ---- groups.c ---- */
/* Is this directory of a group there, whether it has chunks or not? */
bool tfs_group_kept_locked(const struct tfs_session *s, const struct tfs_node *node);
/* A user removes a chunk of this group, which may be its last: 0 or -ENOMEM. */
int tfs_group_keep_locked(struct tfs_session *s, uint32_t group);
/* mkdir and rmdir of a directory of a group: 0 or negative, where there is more to say with a
 * sentence. */
int tfs_group_make_locked(struct tfs_session *s, const struct tfs_node *node,
                          struct tfs_error *err);
int tfs_group_remove_locked(struct tfs_session *s, const struct tfs_node *node,
                            struct tfs_error *err);
/* How many directories in `dir` the document knows nothing of. */
size_t tfs_group_count_locked(struct tfs_session *s, const struct tfs_node *dir);

/* ---- adopt.c ---- */
/* Makes room for a document, so that it can be adopted; or -ENOMEM. */
int tfs_adopt_prepare(struct tfs_session *s, const struct tfs_doc *doc, struct tfs_error *err);
/* Makes `doc`, for which there is room, the shown document (takes the reference): times, stamps,
 * ids to invalidate; `self` (may be NULL) keeps its times. */
void tfs_adopt(struct tfs_session *s, struct tfs_doc *doc, const struct tfs_node *self);
/* Finishes the edit, makes its document the shown one, and notes in the job what it did. */
int tfs_adopt_edit(struct tfs_session *s, struct tfs_edit *edit, const struct tfs_node *self,
                   struct tfs_job *job, struct tfs_error *err);
/* Takes an edit back whose commit failed; false: it stays, for later edits stand on it. */
bool tfs_undo(struct tfs_session *s, struct tfs_job *job);
/* Do both say the same? */
bool tfs_same_content(const struct tfs_doc *a, const struct tfs_doc *b);

/* ---- edits.c ---- */
/* Puts `text` for `node` on the current document. The worker's. */
int tfs_judge(struct tfs_session *s, const struct tfs_node *node, struct tfs_span text,
              struct tfs_job *job, struct tfs_error *err);
int tfs_store_absent(struct tfs_session *s, const struct tfs_node *node, struct tfs_job *job,
                     struct tfs_error *err);
/* Logs why an edit of `node` was refused. The worker's. */
void tfs_log_refusal(struct tfs_session *s, const struct tfs_node *node,
                     const struct tfs_error *err);
int tfs_apply_make_chunk(struct tfs_session *s, struct tfs_job *job);
int tfs_apply_remove_chunk(struct tfs_session *s, struct tfs_job *job);
int tfs_apply_move_chunk(struct tfs_session *s, struct tfs_job *job);
void tfs_settle_make_chunk(struct tfs_session *s, struct tfs_job *job);
void tfs_settle_remove_chunk(struct tfs_session *s, struct tfs_job *job);

/* ---- closing.c ---- */
int tfs_apply_flush(struct tfs_session *s, struct tfs_job *job);
int tfs_apply_release(struct tfs_session *s, struct tfs_job *job);
int tfs_apply_truncate(struct tfs_session *s, struct tfs_job *job);
void tfs_settle_truncate(struct tfs_session *s, struct tfs_job *job);
int tfs_apply_rename(struct tfs_session *s, struct tfs_job *job);
void tfs_settle_rename(struct tfs_session *s, struct tfs_job *job);

/* ---- worker.c ---- */
int tfs_apply_stale(struct tfs_session *s, struct tfs_job *job);
/* Are there documents that were not judged since they were written? */
bool tfs_any_dirty_locked(struct tfs_session *s);
struct tfs_job *tfs_job_create(int (*apply)(struct tfs_session *, struct tfs_job *),
                               struct tfs_reply reply);
/* Queues the job; it is the worker's from now on. */
void tfs_job_submit_locked(struct tfs_session *s, struct tfs_job *job);
/* Is a part of somebody else's write all that there is to judge, for now? */
bool tfs_job_waits_locked(struct tfs_session *s, struct tfs_job *job);
/* What `apply` returns then: it is called again. */
#define TFS_JOB_WAITS (-EINPROGRESS)
void tfs_stale_id(struct tfs_session *s, uint64_t id);
/* Removals of optional files that a barrier on this file covers end now (on a directory: none);
 * false: not all, for want of memory. */
bool tfs_end_removals_locked(struct tfs_session *s, const struct tfs_node *file);
/* Documents that lost their last writer and could not be judged are judged now; `end`: also those
 * whose writers never closed them. */
void tfs_submit_dirty_locked(struct tfs_session *s, bool end);
int tfs_worker_start(struct tfs_session *s);
void tfs_worker_stop(struct tfs_session *s);
/* One commit, whatever the mode: 0 or negative. */
int tfs_commit(struct tfs_session *s, struct tfs_error *err);
void tfs_reply_now(struct tfs_reply reply, int result);

/* ---- answers.c ---- */
/* Invalidates what is stale, then answers and frees the jobs; takes both over. */
void tfs_answer(struct tfs_session *s, struct tfs_job *jobs);
int tfs_answers_start(struct tfs_session *s);
void tfs_answers_stop(struct tfs_session *s); /* when all are given */

/* ---- outside.c ---- */
/* Shows save->doc, which was just read or written and is what is on disk; or remembers to
 * (s->owed). */
int tfs_adopt_saved(struct tfs_session *s, struct tfs_error *err);
/* Shows a save again that could not be read, where it is what it was: it was away for a moment. */
void tfs_outside_mend(struct tfs_session *s);
/* Looks at the save on disk. `editing`: there are edits that a reload would lose. 0 go on;
 * -ESTALE. */
int tfs_outside_check(struct tfs_session *s, bool editing, struct tfs_error *err);
/* A commit was answered ESTALE, by a container that judges changes itself; `err` says why. What the
 * options say to that is done: 0 the edits can be committed now; or negative. */
int tfs_outside_conflict(struct tfs_session *s, struct tfs_error *err);

/* ---- keep.c ---- */
void tfs_log_error(struct tfs_session *s, const struct tfs_error *err, const char *path);
/* 0, or -ENOMEM and nothing is kept. Older ones go when there is no room: the log says which. */
int tfs_keep_rejected_locked(struct tfs_session *s, const char *path, struct tfs_span bytes);
/* The handle that was refused at `path` said it right in the end: what was kept of it goes. */
void tfs_keep_accepted_locked(struct tfs_session *s, const char *path);
/* What reads otherwise than in `disk` goes to rejected/. 0, or -ENOMEM when not all could be
 * kept. */
int tfs_keep_changes_rejected(struct tfs_session *s, const struct tfs_doc *disk);
/* Receives a path of the tree and the bytes to keep there: 0 or negative. */
typedef int (*tfs_keep_fn)(void *arg, const char *path, struct tfs_span bytes);
/* Gives `keep` all files that read otherwise than in `disk`: how many could not be kept. */
size_t tfs_keep_changes(struct tfs_session *s, const struct tfs_doc *disk, tfs_keep_fn keep,
                        void *arg);
void tfs_status_update_locked(struct tfs_session *s);
int tfs_control_create_locked(struct tfs_session *s);

/* ---- unsaved.c ---- */
/* Writes what could not be saved beside the save; 0: there was nothing. */
int tfs_keep_unsaved(struct tfs_session *s);

#endif
