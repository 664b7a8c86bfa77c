/*
 * A store: one save, the document that is shown of it, the document that is saved, and the thread
 * that brings the second after the first. It takes all jobs that are queued, applies them one after
 * another, makes what is shown durable once for all of them (in the save or in its journal; closers
 * that come together share one rewrite) and hands them back to be answered. It also looks after the
 * save on disk: what another program made of it is read again, unless our own edits wait for it.
 *
 * Knows no inode, no name and no FUSE: what follows from another document being shown is its
 * client's.
 *
 * A document that was published never changes: a caller with a reference may read it without a
 * lock. Only the store's thread publishes. No lock of the store is held while the client is called,
 * but for the one of the save, which no call of this interface waits for.
 */
#ifndef TFS_FS_STORE_STORE_H
#define TFS_FS_STORE_STORE_H

#include "formats/views/new_names.h"

struct tfs_store;
struct tfs_job;

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Both are called by the store's thread, without a lock; both may be NULL. */
struct tfs_job_kind {
    /* Makes the edits. `last`: the store ends with this batch, and nothing may wait. */
    int (*apply)(struct tfs_job *job, bool last);
    /* job->result is decided, with that of the commit. */
    void (*settle)(struct tfs_job *job);
};

/* The head of every job. */
struct tfs_job {
    struct tfs_job *next;
    const struct tfs_job_kind *kind;
    bool barrier;                /* the save must be on disk, whatever the commit mode is */
    bool saves;                  /* a commit at close is its business, whatever made the edit */
    bool of_shown;               /* it is for what is shown, and not for what others wrote since */
    const struct tfs_key *reads; /* it reads this chunk and makes no edit; NULL: all else */
    int result;
    bool edited;                    /* the shown document changed */
    bool undone;                    /* and was set aside */
    struct tfs_doc *before, *after; /* if edited */
    struct tfs_buf new_names;       /* printed: formats/views/new_names.h */
};

/* Lets go of the documents. */
void tfs_job_release(struct tfs_job *job);

/* ---- the client ------------------------------------------------------------------------------ */

/* Another document is to be shown. */
struct tfs_publication {
    struct tfs_doc *before, *after;
    uint64_t self;  /* as given to tfs_store_accept; 0: none */
    bool reread;    /* `after` stands on what was read from disk: slots may mean other chunks */
    bool completed; /* `after` says what `before` does, and has chunks that were not read then */
};

/* What the store asks of its client and tells it; all called by its thread, all may be NULL. */
struct tfs_store_client {
    void *arg;
    /* Calls tfs_store_show once, under whatever must change together with the document. */
    void (*publish)(void *arg, struct tfs_store *store, const struct tfs_publication *change);
    /* The save cannot be read any more, or can again. */
    void (*turned)(void *arg);
    /* Does what is due, which may submit jobs. `last`: everything is due. Returns when there will
     * be more to do, monotonic ms; 0: not known. */
    int64_t (*tick)(void *arg, bool last);
    /* Answers and frees the jobs. */
    void (*answer)(void *arg, struct tfs_job *jobs);
    void (*log)(void *arg, const struct tfs_error *err);
    void (*message)(void *arg, const char *text);
};

/* ---- life ------------------------------------------------------------------------------------ */

struct tfs_store_options {
    bool read_only;
    bool commit_auto;     /* edits of a burst go to the journal, others into the save at once; else
                           * every close is a commit */
    int64_t (*now)(void); /* the clock; NULL: tfs_now_ms */
};

/* Takes over `save`, but for a failure. The thread does not run yet. */
int tfs_store_open(struct tfs_save *save, const struct tfs_store_options *options,
                   const struct tfs_store_client *client, struct tfs_store **store,
                   struct tfs_error *err);
int tfs_store_start(struct tfs_store *store);
/* Applies what is queued, commits and ends the thread, if it runs. */
void tfs_store_stop(struct tfs_store *store);
/* The save is not the store's any more, which does not run: for a failure to begin. */
void tfs_store_give_back(struct tfs_store *store);
/* NULL is legal. */
void tfs_store_close(struct tfs_store *store);

/* ---- for all threads ------------------------------------------------------------------------- */

bool tfs_store_read_only(const struct tfs_store *store);
/* Where the chunk of a slot is now; false: nowhere. */
bool tfs_store_key(struct tfs_store *store, uint32_t slot, struct tfs_key *key);
uint32_t tfs_store_slots(struct tfs_store *store); /* all are below */
/* Owner, mode and times of the save. */
void tfs_store_stat(struct tfs_store *store, struct stat *st);
/* The save on disk cannot be read now. */
bool tfs_store_broken(const struct tfs_store *store);
/* Is something shown that is not on disk? */
bool tfs_store_unsaved(struct tfs_store *store);
/* Of one that was stopped: what a person has to know of edits that are not in the save. NULL: there
 * is nothing. */
const char *tfs_store_left(const struct tfs_store *store);
uint64_t tfs_store_commits(struct tfs_store *store);
/* Is the save on disk still the one that was read, as far as this chunk is concerned (NULL: all of
 * it), and can it be read? Never waits. */
bool tfs_store_current(struct tfs_store *store, const struct tfs_key *chunk);

/* Queues the job: the store's, until it is answered. */
void tfs_store_submit(struct tfs_store *store, struct tfs_job *job);

/* ---- for jobs, by the store's thread --------------------------------------------------------- */

/* The shown document, borrowed until the next edit is accepted; and the saved one. */
struct tfs_doc *tfs_store_shown(const struct tfs_store *store);
struct tfs_doc *tfs_store_saved(const struct tfs_store *store);
/* An edit of the shown document. Slots that were ever given out are not given again. EIO while the
 * save on disk cannot be read. */
int tfs_store_edit(struct tfs_store *store, struct tfs_edit *edit, struct tfs_error *err);
/* Publishes what the edit made, and notes it in the job. */
int tfs_store_accept(struct tfs_store *store, struct tfs_edit *edit, uint64_t self,
                     struct tfs_job *job, struct tfs_error *err);
/* What is shown has the chunks that may be at that key (NULL: all), which are read now if they were
 * not. -EAGAIN: not now. */
int tfs_store_complete(struct tfs_store *store, const struct tfs_key *chunk, struct tfs_error *err);
/* For the client's `publish`: from now on change->after is shown. */
void tfs_store_show(struct tfs_store *store, const struct tfs_publication *change);

/* Do both say the same? */
bool tfs_doc_same(const struct tfs_doc *a, const struct tfs_doc *b);

#endif
