/*
 * What a store is made of. Private to its files, each of which calls only those before it:
 *
 *   store.c     edits, publishing; what edits made, on another document; chunks that are read later
 *   conflict.c  changes of the save by other programs
 *   journal.c   what was accepted and is not in the save yet
 *   rewrite.c   when the save follows, and that it is written, by a thread of its own
 *   thread.c    the queue, who waits for what, opening and closing
 *
 * Invariants:
 *  1. `lock` guards the fields below it; nothing is called while it is held. The thread alone
 *     changes `shown` and `saved`, and so reads them without it.
 *  2. `io` is held while the save's container is at work (commit, changed, reload); before `lock`.
 *     `journal_lock` is held while the journal is written, and a file that takes its place; after
 *     `io`, before `lock`.
 *  3. `shown` and `saved` differ while edits wait for a commit.
 *  4. A slot below `key_count` is never given to another chunk, whatever becomes of the edit that
 *     gave it out.
 */
#ifndef TFS_FS_STORE_STATE_H
#define TFS_FS_STORE_STATE_H

#include <pthread.h>

#include "base/journal.h"
#include "fs/store/store.h"

#define TFS_POLL_MS 1000

/*
 * The save on disk:
 *
 *   state  event                                                  next
 *   SHOWN  another program wrote it, or chunks were read later    READ
 *   any    it is missing, or cannot be read                       LOST
 *   READ   what it says is published, with our edits on top       SHOWN
 *   LOST   it can be read: what is saved, or something else       SHOWN, READ
 */
enum tfs_disk_state {
    TFS_DISK_SHOWN, /* what it says is `saved`, and what is shown stands on that */
    TFS_DISK_READ,  /* save->doc is what it says, and could not be shown yet: nothing is edited */
    TFS_DISK_LOST,  /* it cannot be read: every file answers EIO */
};

/*
 * The journal:
 *
 *   state          event                                          next
 *   any            a new one is made                              UNSURE
 *   UNSURE         and is durable                                 LEADS
 *   LEADS          the save is rewritten, with edits it lacks     BEHIND
 *   LEADS, BEHIND  what is shown is appended, and durable         LEADS
 *   any            the save has all, and the journal is removed   ABSENT
 */
enum tfs_journal_state {
    TFS_JOURNAL_ABSENT,
    TFS_JOURNAL_LEADS,  /* from `journal_base` to `journaled` */
    TFS_JOURNAL_BEHIND, /* the same, and not from what is written now */
    TFS_JOURNAL_UNSURE, /* what has its name may hold more than was accepted, or less */
};

/*
 * When the save follows what was accepted: numbers alone, without a clock, a lock or a disk.
 *
 * commit=auto: an edit that comes when nothing waits, and not right behind another, goes straight
 * into the save. The edits of a burst wait in the journal, and the save follows when they pause, or
 * when they go on for long; the longer a rewrite takes, the rarer it is. commit=close: no edit
 * waits. All times are milliseconds of one clock and above 0.
 */
#define TFS_BURST_MS  250  /* edits that are closer together are a burst */
#define TFS_FOLLOW_MS 5000 /* the save follows a burst without end so often, or ... */
#define TFS_FOLLOW_BY 10   /* ... so many times as long as a rewrite takes, if that is more */

struct tfs_pace {
    bool automatic;     /* commit=auto */
    int64_t edited;     /* when the last edit was accepted; 0: none was */
    int64_t waiting;    /* since when edits wait for the save; 0: none do */
    int64_t failed;     /* when the save could not be written; 0: the last time it could */
    int64_t rewrite_ms; /* what the last rewrite took */
    bool hurries;       /* there is no room for more to wait */
};

enum tfs_rewrite_state {
    TFS_REWRITE_RESTS,
    TFS_REWRITE_WRITES,
    TFS_REWRITE_ENDED,
    TFS_REWRITE_LEAVES,
};

/* A rewrite of the save: rewrite.c. */
struct tfs_rewrite_work {
    pthread_t thread;
    bool started;                 /* else the store's thread writes itself */
    pthread_cond_t work;          /* `state` changed */
    enum tfs_rewrite_state state; /* guarded by the store's lock */
    struct tfs_doc *doc; /* what is written, until RESTS; NULL: nothing. The thread's own */
    int result;          /* from here on: the writer's until ENDED */
    struct tfs_error err;
    int64_t took_ms;
};

struct tfs_store {
    struct tfs_save *save;
    struct tfs_store_options options;
    struct tfs_store_client client;
    _Atomic enum tfs_disk_state disk; /* changed by the thread alone */
    pthread_mutex_t io;

    pthread_mutex_t lock;
    pthread_cond_t work; /* the queue or `stop` changed */
    struct tfs_doc *shown, *saved;
    struct tfs_key *keys; /* slot -> coordinate; group UINT32_MAX: gone */
    uint32_t key_count;
    struct stat st; /* of the save, at the last reading or commit */
    uint64_t commits;
    struct tfs_job *queue, **queue_end;
    bool stop;

    pthread_mutex_t journal_lock;
    struct tfs_journal *journal;    /* NULL: none. Set by the thread */
    struct tfs_journal_mark marked; /* what the rewrite under way has come to */

    /* The thread's own. */
    pthread_t thread;
    bool started;
    struct tfs_key *changed_files; /* that others changed, until what they wrote is shown */
    size_t changed_count;
    char *left; /* what a person has to know of edits that are not in the save; NULL: nothing */
    struct tfs_rewrite_work rewrite;
    struct tfs_job *in_rewrite;               /* jobs that wait for the rewrite under way */
    struct tfs_job *after;                    /* and for the next one */
    char *journal_beside;                     /* where it lies; NULL: there was none yet */
    struct tfs_doc *journal_base, *journaled; /* set with `journal` */
    uint64_t journal_begun;                   /* its size when it was made */
    enum tfs_journal_state journal_state;
    struct tfs_hash hash;  /* of what the save holds as document `hash_version` */
    uint64_t hash_version; /* 0: not known */
    struct tfs_pace pace;  /* when the save follows */
    int64_t poll_deadline; /* when the save is looked at next */
};

/* ---- store.c ---- */
int64_t tfs_store_now(const struct tfs_store *store); /* by its clock */
/* A rewrite is under way, or has ended and was not asked for its end. */
static inline bool tfs_store_is_rewriting(const struct tfs_store *store)
{
    return store->rewrite.doc != NULL;
}

/* tfs_store_unsaved, by the thread. */
static inline bool tfs_store_differs(const struct tfs_store *store)
{
    return store->shown->version != store->saved->version;
}

/* Makes room for the slots of a document, so that it can be published; or -ENOMEM. */
int tfs_store_reserve(struct tfs_store *store, const struct tfs_doc *doc, struct tfs_error *err);
/* Shows `doc` (takes the reference), for which there is room. */
void tfs_store_publish(struct tfs_store *store, struct tfs_doc *doc, bool reread);
void tfs_store_log(struct tfs_store *store, const struct tfs_error *err);
/* Can `onto` hold this chunk of what is shown; NULL: what is common? */
bool tfs_store_fits(const struct tfs_store *store, const struct tfs_doc *onto,
                    const struct tfs_chunk *chunk);
/* Makes the edit say what `after` says, which was made of `before`. */
int tfs_store_rebase_chunk(struct tfs_edit *edit, const struct tfs_chunk *before,
                           const struct tfs_chunk *after, struct tfs_error *err);
/* *doc: `onto`, which nobody has seen, with what differs between `old` and `ours`. ESTALE: it does
 * not fit. */
int tfs_store_rebase(struct tfs_store *store, struct tfs_doc *onto, const struct tfs_doc *old,
                     const struct tfs_doc *ours, struct tfs_doc **doc, struct tfs_error *err);

/* ---- conflict.c ---- */
/* `committed` is on disk. Where an equal document was read back in its place, that is what is
 * saved; what is shown stands on it from now on. */
int tfs_store_follow(struct tfs_store *store, const struct tfs_doc *committed,
                     struct tfs_error *err);
/* Shows a save again that could not be read, where it is what it was: it was away for a moment. */
void tfs_store_mend(struct tfs_store *store);
/* Looks at the save on disk, and shows what another program wrote. *aside (may be NULL): what was
 * saved before with the edits that were set aside; stays as it is where none were. */
int tfs_store_look(struct tfs_store *store, struct tfs_doc **aside, struct tfs_error *err);
/* May what others changed be what edits of ours change? Else the next look can find it. */
bool tfs_store_may_conflict(struct tfs_store *store);
/* Waits the job for edits that were set aside of what was saved `before`? */
bool tfs_store_waits_for(const struct tfs_job *job, const struct tfs_doc *before,
                         const struct tfs_doc *aside);
/* At the end: what the save lacks is somewhere, and it is said where. */
void tfs_store_keep_unsaved(struct tfs_store *store);

/* ---- journal.c ---- */
/* Is what was accepted durable before its answer, though the save follows later? */
bool tfs_store_journals(const struct tfs_store *store);
/* Makes what is shown durable in the journal. */
int tfs_store_journal_add(struct tfs_store *store, struct tfs_error *err);
/* Is what the journal would take now so much that the save might as well be written? */
bool tfs_store_journal_is_too_much(struct tfs_store *store);
/* It is so large that the save should follow now. */
bool tfs_store_journal_is_full(struct tfs_store *store);
/* The journal hears of every rewrite of the save from now on. */
void tfs_store_journal_watch(struct tfs_store *store);
/* A rewrite of what is shown begins. Where that changes more than one file, the journal holds it
 * first, if there can be one. After a failure it must not begin. */
int tfs_store_journal_mark(struct tfs_store *store, struct tfs_error *err);
/* It has ended. */
void tfs_store_journal_unmark(struct tfs_store *store, bool saved);
/* A rewrite failed when it had written some files of several: `reached` is what is saved by then,
 * and the journal goes on. */
void tfs_store_journal_reached(struct tfs_store *store, struct tfs_doc *reached);
/* After a commit, or when another save was read: removes a journal that says nothing more, replaces
 * one that belongs to a save of before. What fails is tried again with the next batch, and
 * told with the last one; until then the journal hears of each rewrite. */
void tfs_store_journal_settle(struct tfs_store *store, bool last);
/* At the end: closes it. The file stays where the save lacks something. */
void tfs_store_journal_close(struct tfs_store *store);

/* ---- rewrite.c ---- */
/* Does an edit that comes now belong to a burst? */
bool tfs_pace_is_burst(const struct tfs_pace *pace, int64_t now);

/* Edits were accepted; `wait`: the save lacks them. */
void tfs_pace_edit(struct tfs_pace *pace, int64_t now, bool wait);
/* The save lacks nothing. */
void tfs_pace_saved(struct tfs_pace *pace);
/* It could not be written. */
void tfs_pace_failed(struct tfs_pace *pace, int64_t now);
/* The save should follow at once, unless it just could not be written. */
void tfs_pace_hurry(struct tfs_pace *pace);

/* When the save follows; 0: no time is set. */
int64_t tfs_pace_deadline(const struct tfs_pace *pace);

/* Starts the thread that writes the save, before the first job, so that the memory that it takes is
 * taken early. Where it cannot be started, the store's thread, which calls this, writes itself. */
void tfs_store_rewriter_start(struct tfs_store *store);
void tfs_store_rewriter_stop(struct tfs_store *store);
/* Writes what is shown into the save; none is under way. */
void tfs_store_rewrite_begin(struct tfs_store *store);
/* Until it has ended. */
void tfs_store_rewrite_wait(struct tfs_store *store);
/* What became of one that has ended: 0, and what was written is what is saved; or why not. */
int tfs_store_rewrite_end(struct tfs_store *store, struct tfs_error *err);

#endif
