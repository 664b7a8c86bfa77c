/*
 * The verbs of a session: what its files share. Private to them; each calls only those before it:
 *
 *   ops.c         the modules put together: nodes, paths, attempts, messages, jobs
 *   attributes.c  what stat(2) says of them
 *   array.c       arrays that are open for writing; documents that open files go on with
 *   lookup.c      what a name stands for; chunks that are read when somebody asks for them; lookups
 *                 and listings
 *   edit.c        texts, chunk directories and what is at rest -> edits of the shown document; by
 *                 stores' threads
 *   commit.c      commit points: what drafts say -> edits, or refusals; barriers
 *   rename.c      rename
 *   change.c      unlink, mkdir, rmdir, symbolic links; directories of groups
 *   io.c          drafts that begin, read and write
 *   open.c        open, create, release; getattr, setattr, statfs
 *   session.c     opening, ending; what stores ask and tell
 *
 * The lock. `lock` guards names, the scratch files, the inodes with their handles, what was
 * rejected, and which document each store shows: it is held when a store publishes. A function is
 * called with the lock held and keeps it, unless the comment above it says that it takes the lock
 * itself. Stores and views have locks of their own, which are taken after this one; a store's `io`
 * before.
 *
 * Attempts. A verb is tried under the lock. Where it needs bytes that are not rendered it ends with
 * TFS_NEEDS_BYTES, having changed nothing that it would not do again; they are rendered without the
 * lock, and the verb is tried again with them (tfs_ops_run).
 */
#ifndef TFS_FS_SESSION_OPS_H
#define TFS_FS_SESSION_OPS_H

#include <pthread.h>

#include "fs/tree/kept_times.h"
#include "fs/session/names.h"
#include "fs/session/rejected.h"
#include "fs/session/session.h"
#include "fs/store/store.h"

#define TFS_REST_MS 2000
/* A draft may grow to this and four times what the file has now (fs/tree/tree.h). */
#define TFS_DRAFT_MAX TFS_TEXT_MORE
/* From here on a draft lies in a file, where its lens takes it so. */
#define TFS_DRAFT_LARGE (UINT64_C(8) << 20)
/* A file of more bytes than this cannot be written in part, where a draft of it is in memory. */
#define TFS_DRAFT_WHOLE_MAX (UINT64_C(512) << 20)
/* What was rejected of a draft that is not in memory is kept up to this size. */
#define TFS_DRAFT_KEPT_MAX (UINT64_C(64) << 20)

/* A store and where it is mounted in the session's tree. */
struct tfs_branch {
    struct tfs_session *session;
    struct tfs_store *store;
    struct tfs_save *save;
    uint16_t number; /* in nodes */
    uint32_t above;  /* the directory above its root; several stores only */
    char *name;      /* of its root there; NULL: it is the root of all */
    struct tfs_kept_times kept;
    struct tfs_map stale; /* ids of directories that the kernel is to be told of */
};

/* A directory above the roots of several stores: its number is its place in the array. */
struct tfs_above {
    char *name;
    uint32_t parent;
};

struct tfs_session {
    pthread_mutex_t lock;
    pthread_cond_t answered; /* pages that were read where they lie may be written to */
    struct tfs_session_options options;
    struct tfs_events events;
    struct tfs_branch *branches;
    size_t branch_count;
    struct tfs_above *above; /* NULL: there is one store */
    uint32_t above_count;

    struct tfs_views views;
    struct tfs_names names;
    struct tfs_scratch_tree scratch_tree;
    struct tfs_inodes inodes;
    struct tfs_rejected rejected;

    int64_t quiet_at;   /* the kernel keeps names from then on, if nothing changes; 0: it does */
    int64_t late_until; /* changes are told, because a listing of before may come late */
    uint64_t told;      /* the last change that was seen: tfs_views_last_stamp */
    char *left;         /* what the end said of what is not in the save; NULL: nothing */
};

/* ---- stores and nodes ------------------------------------------------------------------------ */

/* The branch of a node; NULL for a directory above the stores. */
struct tfs_branch *tfs_ops_branch(struct tfs_session *s, const struct tfs_node *node);
/* The branch of an inode: its file's, or that of the directory that holds the scratch file; NULL:
 * that lies above the stores. */
struct tfs_branch *tfs_ops_branch_of(struct tfs_session *s, const struct tfs_inode *inode);
/* The document that is shown of its store. */
struct tfs_doc *tfs_ops_shown(struct tfs_session *s, const struct tfs_node *node);
/* A file in that document; in another one, where it has no stamp; as who has this id reads it. */
struct tfs_view tfs_ops_view(struct tfs_session *s, const struct tfs_node *node);
struct tfs_view tfs_ops_view_in(struct tfs_session *s, const struct tfs_node *node,
                                struct tfs_doc *doc);
struct tfs_view tfs_ops_view_of(struct tfs_session *s, const struct tfs_inode *inode);
bool tfs_ops_read_only(struct tfs_session *s, const struct tfs_node *node);
bool tfs_ops_writable(struct tfs_session *s, const struct tfs_node *node);
/* The node of an id, with its key; -ESTALE when it is gone, -ENOENT when it is a scratch file. */
int tfs_ops_node(struct tfs_session *s, uint64_t id, struct tfs_node *node);
/* The chunk may have been moved: sets its key, if it is still there. */
void tfs_ops_refresh(struct tfs_session *s, struct tfs_node *node);
struct tfs_node tfs_ops_parent(struct tfs_session *s, const struct tfs_node *node);
/* Is the name there now: 1 or 0? Negative as of tfs_node_exists. */
int tfs_ops_visible(struct tfs_session *s, const struct tfs_node *node);
/* The same: 0 if it is; -ESTALE if not. */
int tfs_ops_check_visible(struct tfs_session *s, const struct tfs_node *node);
/* Path of an id from the root, for people. */
void tfs_ops_path(struct tfs_session *s, uint64_t id, struct tfs_buf *out);
/* A program that has an array open goes on with it as it was when its name goes to another file:
 * its bytes are not copied then. */
bool tfs_ops_is_array(struct tfs_session *s, const struct tfs_node *node);
/* The directory of this node lists it from now on, or no more. */
void tfs_ops_bump_parent(struct tfs_session *s, const struct tfs_node *node);
/* What the kernel has of this directory is wrong; it is told before the next answers. */
void tfs_ops_stale(struct tfs_session *s, const struct tfs_node *dir);
/* Both, where that is not what a program asked for. */
void tfs_ops_list_again(struct tfs_session *s, const struct tfs_node *node);

/* ---- attempts -------------------------------------------------------------------------------- */

/* What attempts end with to be made again; not error numbers. */
#define TFS_NEEDS_BYTES  (-100001) /* `view` is to be rendered */
#define TFS_NEEDS_CHUNKS (-100002) /* chunks of `branch` are to be read */

static inline bool tfs_needs_more(int result)
{
    return result == TFS_NEEDS_BYTES || result == TFS_NEEDS_CHUNKS;
}

/* The stamp of a text that is rendered for one caller, and never remembered. */
#define TFS_STAMP_NONE UINT64_MAX

struct tfs_need {
    struct tfs_view view;  /* what is to be rendered, or was; with a reference to the document */
    uint64_t offset, size; /* the range of it that is wanted; size 0: all */
    struct tfs_blob *blob; /* rendered from view.id as of view.stamp */
    struct tfs_branch *branch;
    struct tfs_key chunk; /* the one that may be there */
    bool all_chunks;
    unsigned asked;                            /* chunks, by this verb, for what is in them */
    int (*read_chunks)(struct tfs_need *need); /* without the lock */
    unsigned looks;                            /* at the save, that the store may be asked for */
    uint64_t behind; /* version of the document that another program changed the save under */
};

typedef int (*tfs_attempt_fn)(struct tfs_session *s, void *call, struct tfs_need *need);

/* Takes the lock: makes attempts until one is an answer. Where another program changed what an
 * attempt needs, the store reads the save again first. */
int tfs_ops_run(struct tfs_session *s, tfs_attempt_fn attempt, void *call);
/* The same of the save as it was read, which answers ESTALE then: by the store's thread, and where
 * a file is opened or open, whose size the kernel was told before. writer: a handle that is written
 * through, whose pages no commit point is reading then; NULL: none. */
int tfs_ops_run_as_read(struct tfs_session *s, const struct tfs_handle *writer,
                        tfs_attempt_fn attempt, void *call);

/* If something changed, the front end hears that the names that it kept are stale: before the lock
 * is given up. The kernel takes a listing for one of the moment when it gets to reading it, so it
 * is told of all changes of a second, and again when it is quiet. */
void tfs_ops_end_quiet(struct tfs_session *s);
/* Returns when to ask again; 0: it is quiet. */
int64_t tfs_ops_begin_quiet(struct tfs_session *s, int64_t now);

/* The store looks at the save: what it says now is shown then. Without the lock. */
int tfs_ops_look(struct tfs_branch *branch);
/* Chunks of `doc` could not be fetched, because another program changed them: 0 when the store has
 * looked at the save since, and the verb is to be tried again; or -ESTALE. Without the lock. */
int tfs_ops_catch_up(struct tfs_need *need, struct tfs_branch *branch, const struct tfs_doc *doc);

/* It is about this view from now on. */
void tfs_need_view(struct tfs_need *need, const struct tfs_view *view);
/* Was the whole text rendered for this verb, and the file was changed since? Who wants no more than
 * a size takes it: while edits go on, a verb might never end. */
bool tfs_need_has_older(const struct tfs_need *need, const struct tfs_view *view);

/* What the file shows: a reference; or TFS_NEEDS_BYTES. */
int tfs_ops_bytes(struct tfs_session *s, struct tfs_need *need, const struct tfs_view *view,
                  struct tfs_blob **blob);
/* The same of `size` bytes, not 0, which are not remembered. */
int tfs_ops_range(struct tfs_need *need, const struct tfs_view *view, uint64_t offset,
                  uint64_t size, struct tfs_blob **blob);

/* ---- attributes.c ---------------------------------------------------------------------------- */

/* What a name of the schema shows now, with the computed id. need: may be NULL for a directory;
 * of a file it is -EAGAIN then where its size is not known without its text. */
int tfs_ops_attr_node(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                      struct tfs_attr *attr);
int tfs_ops_attr(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                 struct tfs_attr *attr);
/* The same in a listing: is it known, and may it be kept? */
bool tfs_ops_attr_listed(struct tfs_session *s, const struct tfs_node *node, struct tfs_attr *attr);

/* The inode's size for who has this draft of it open. */
void tfs_ops_attr_draft(const struct tfs_draft *draft, struct tfs_attr *attr);

/* ---- people ---------------------------------------------------------------------------------- */

/* One line, whatever foreign names are in it. Without the lock. */
void tfs_ops_message(struct tfs_session *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same about one save of several: its path stands in front. Takes the lock. */
void tfs_ops_message_of(const struct tfs_branch *branch, const char *text);
/* A sentence for errors.log and a message about a node, or a save of several. Take the lock. */
void tfs_ops_log_node(struct tfs_session *s, const struct tfs_error *err,
                      const struct tfs_node *node);
void tfs_ops_log_branch(const struct tfs_branch *branch, const struct tfs_error *err);

/* What was written to a file of the schema goes to rejected/; NULL: it cannot be had. */
void tfs_ops_put_aside(struct tfs_session *s, const struct tfs_node *file,
                       const struct tfs_span *text);
/* The file was mended: what was rejected of it before is of no more use. A text that says what the
 * save says already mends nothing: vim writes the old one back when a write fails. */
void tfs_ops_drop_rejected(struct tfs_session *s, const struct tfs_node *file);

/* The sentence of `why`, if there is one, goes to errors.log and is a message: about the name in
 * the directory `id`. Takes the lock. Returns `result`. */
int tfs_ops_told(struct tfs_session *s, uint64_t id, const char *name, int result,
                 const struct tfs_error *why);

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The head of all jobs of a session; each kind has a struct of its own that begins with it. */
struct tfs_work {
    struct tfs_job job;
    struct tfs_branch *branch;
    struct tfs_reply reply;
    struct tfs_inode *inode;           /* a reference; NULL: none */
    const struct tfs_written *written; /* comes in place of the text; NULL: there is a text */
    struct tfs_node fresh;             /* the chunk just made that its edit is of, */
    struct tfs_written_values *values; /* and what was written to that before; NULL: to none */
    bool has_attr;
    struct tfs_attr attr;
    void (*release)(struct tfs_work *work); /* releases what the kind holds; NULL: nothing */
};

/* `size` bytes, the rest is zero; NULL without memory. */
void *tfs_work_create(size_t size, const struct tfs_job_kind *kind, struct tfs_branch *branch,
                      struct tfs_inode *inode, struct tfs_reply reply);
void tfs_work_submit(struct tfs_work *work);
/* The same, and waits for its answer. Without the lock, not by the store's thread. */
int tfs_work_wait(struct tfs_work *work);
/* Takes the lock. */
void tfs_work_free(struct tfs_work *work);
/* Answers, but for -EINPROGRESS: a job does. */
void tfs_reply_now(struct tfs_reply reply, int result);

/* ---- lookup.c, chunks ------------------------------------------------------------------------ */

/* Is it remembered what is in the chunk of a node, as far as the document does not hold it? 0 if it
 * is, or was asked for by this verb; else TFS_NEEDS_CHUNKS: a database may be locked. */
int tfs_ops_know_inside(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node);
/* `result`, of an attempt that has changed nothing; TFS_NEEDS_CHUNKS for an ESTALE that the store
 * can do something about: what the chunk of the node has could not be read, because another program
 * changed it. */
int tfs_ops_know_again(struct tfs_session *s, struct tfs_need *need, const struct tfs_node *node,
                       int result);

/* ---- array.c --------------------------------------------------------------------------------- */

/* Opened for writing: what is shown now is below its pages. Nothing, where it is no array, or has
 * them already. */
int tfs_ops_open_array(struct tfs_session *s, struct tfs_inode *inode);
/* `why`: of a failure that is to be told. */
int tfs_ops_write_array(struct tfs_session *s, struct tfs_need *need, struct tfs_inode *inode,
                        uint64_t offset, struct tfs_span bytes, struct tfs_error *why);
int tfs_ops_resize_array(struct tfs_session *s, struct tfs_inode *inode, uint64_t size);
/* By the store's thread, without the lock: what was written becomes an edit; `released`: if it has
 * no writer. What is refused is told, and put aside. */
int tfs_ops_commit_array(struct tfs_work *work, bool released);
/* The name of the file is gone, or another file's: who has it open goes on with what it is in this
 * document, where `node` has its key. */
void tfs_ops_leave(struct tfs_session *s, const struct tfs_node *node, struct tfs_doc *doc);
/* Takes this edit bytes from the save that a document needs which open files go on with? */
bool tfs_ops_past_loses(struct tfs_branch *branch, const struct tfs_publication *change);
/* By the store's thread, before that edit is shown: one of these documents gets the bytes; false:
 * they cannot be had. Takes the lock. */
bool tfs_ops_keep_past(struct tfs_branch *branch, const struct tfs_publication *change);

/* ---- edit.c, by the store's thread, without the lock ----------------------------------------- */

/* Puts `text` for `node` on the shown document. */
int tfs_ops_validate(struct tfs_work *work, const struct tfs_node *node, struct tfs_span text,
                     struct tfs_error *err);

/* Optional files that were unlinked are stored as absent, with a barrier on this node of the
 * schema: those of its chunk, or of all of the save. What is refused is told. */
int tfs_rest_store(struct tfs_work *work, const struct tfs_node *node);
/* Ends what is at rest in a tree (`all`: everything). When there is more to come, 0: not known.
 * With the lock. */
int64_t tfs_rest_tick(struct tfs_branch *branch, int64_t now, bool all);

/* Its edit was set aside: values of a chunk just made are as they were before. */
void tfs_ops_undone(struct tfs_work *work);

enum tfs_chunk_verb { TFS_CHUNK_MAKE, TFS_CHUNK_REMOVE, TFS_CHUNK_MOVE };

/* mkdir, rmdir and rename of a chunk's directory, which is at `to` then: -EINPROGRESS, a job
 * answers; or -ENOMEM. With the lock, by any thread. */
int tfs_ops_chunk(struct tfs_branch *branch, enum tfs_chunk_verb verb, const struct tfs_node *chunk,
                  struct tfs_key to, struct tfs_reply reply);

/* ---- commit.c -------------------------------------------------------------------------------- */

/* Nobody has it open any more: takes what is left of it; without memory, at the end. */
void tfs_ops_release_handle(struct tfs_session *s, struct tfs_handle *handle);
/* The same of all who wrote to an array. */
void tfs_ops_release_array(struct tfs_session *s, struct tfs_inode *inode);

/* ---- lookup.c, names ------------------------------------------------------------------------- */

/* What a name in a directory stands for. At most one of link and schema. */
struct tfs_entry {
    struct tfs_node dir;             /* the directory, if it is one of the schema */
    struct tfs_scratch *scratch_dir; /* the directory, if it is a scratch directory */
    struct tfs_branch *branch;       /* whose tree the directory lies in; NULL: above */
    struct tfs_link *link;           /* a scratch name, or NULL */
    bool schema;                     /* a name of the schema, `node` */
    bool visible;                    /* schema: it is there now */
    bool coordinate; /* would be a chunk directory: node.key is set, the chunk may be absent */
    struct tfs_node node;
};

/* -ESTALE, -ENOTDIR, -ENAMETOOLONG for the directory or the name itself; TFS_NEEDS_CHUNKS; else 0,
 * *entry may be empty. */
int tfs_entry_find(struct tfs_session *s, struct tfs_need *need, uint64_t parent, const char *name,
                   struct tfs_entry *entry);
/* May a scratch file be made here? 0, -EINVAL (a name reserved for chunks), -EROFS, -EPERM. */
int tfs_entry_free_for_scratch(struct tfs_session *s, const struct tfs_entry *entry,
                               const char *name, bool directory);
/* Is it a directory whose entries are groups? */
bool tfs_holds_groups(const struct tfs_node *dir);
bool tfs_entry_read_only(struct tfs_session *s, const struct tfs_entry *entry);
/* A name of the schema that is not there, and that -o views= leaves out: it cannot be made. */
bool tfs_entry_is_left_out(const struct tfs_entry *entry);
/* A scratch file of that name with these bytes, or of a symbolic link the target; in the place of
 * one that has the name. */
int tfs_entry_make_scratch(struct tfs_session *s, uint64_t parent, const char *name,
                           enum tfs_scratch_kind kind, const struct tfs_attr *owner,
                           struct tfs_span bytes, struct tfs_inode **inode);

/* ---- io.c ------------------------------------------------------------------------------------ */

/* The inode of an id that may be opened so; made if it is a computed one. Readers of an id read one
 * text, and who writes has one that no reader has: O_TRUNC and direct writes move the size that the
 * kernel knows of it. -ESTALE: another id is needed. */
int tfs_file_for_open(struct tfs_session *s, uint64_t id, bool write, struct tfs_inode **inode);
/* May this file of the schema be opened so? */
int tfs_file_check(struct tfs_session *s, const struct tfs_node *node, bool write);
/* Somebody writes the file through this id: no name is given it any more. */
void tfs_file_take(struct tfs_session *s, struct tfs_inode *inode);
/* What the handle writes gets this size. Cut to 0 when it is opened: by nobody (tfs_draft_cut). */
int tfs_file_truncate(struct tfs_session *s, struct tfs_need *need, struct tfs_handle *handle,
                      uint64_t size, bool opening);

#endif
