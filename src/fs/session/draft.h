/*
 * A draft: the document that users are writing to one file of the schema. It shows its bytes as
 * they were written until its last writer is gone; commit points check them.
 *
 * A draft is in one state, which changes as the table at the top of draft.c says. Knows no inode
 * and no lens. Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_DRAFT_H
#define TFS_FS_SESSION_DRAFT_H

#include <sys/types.h>

#include "fs/session/sparse.h"

enum tfs_draft_state {
    TFS_DRAFT_CLEAN,    /* holds what the file showed: the first write is to come, or a rename
                         * keeps it for readers */
    TFS_DRAFT_WRITTEN,  /* nobody checked it since it was written to */
    TFS_DRAFT_CHECKING, /* what it says is being checked, and nothing was written since */
    TFS_DRAFT_ACCEPTED, /* it is in the shown document */
    TFS_DRAFT_REJECTED, /* it changed nothing; the next commit point checks it again */
    TFS_DRAFT_OUTDATED, /* the save was replaced under it: rejected, whatever it
                         * says, until it is cut to 0 */
    TFS_DRAFT_POISONED, /* a write was refused: rejected, whatever follows, until it is cut to 0 */
};

enum tfs_draft_event {
    TFS_DRAFT_WRITE,   /* bytes were written or cut off */
    TFS_DRAFT_CHECK,   /* a commit point checks a copy, or the pages where they lie */
    TFS_DRAFT_ACCEPT,  /* what it checked is accepted */
    TFS_DRAFT_REJECT,  /* what it checked is rejected */
    TFS_DRAFT_DEFER,   /* nobody could tell, for want of memory */
    TFS_DRAFT_OUTDATE, /* another program's save takes the place of the one it was made for */
    TFS_DRAFT_POISON,  /* its lines cannot become a document that is accepted, whatever follows */
    TFS_DRAFT_EMPTY,   /* it was cut to 0 */
};

/* What a text makes of the document that was shown when it was written. */
struct tfs_prepared {
    uint64_t file; /* whose text it is: a computed id */
    struct tfs_blob *text;
    struct tfs_edit edit;
};

void tfs_prepared_free(struct tfs_prepared *prepared); /* NULL is legal */

struct tfs_draft {
    enum tfs_draft_state state;
    struct tfs_buf bytes;
    struct tfs_prepared *prepared; /* of bytes that it had; NULL: of none */
    struct tfs_sparse *sparse;     /* has the bytes where they grew too large for memory */
    bool stays;                    /* there was no room for that: `bytes` has it, however large */
    uint64_t changes;              /* of what the file reads, when it began */
    bool overtaken;   /* OUTDATED, because a page of a mapping came that is older than that */
    bool ordered;     /* what it held at first and what was written since stand in this order: lines
                       * that are complete are final. For a writer, which says so */
    uint64_t scanned; /* bytes that were looked at while it was written */
    bool told;        /* these very bytes were rejected, and the log says so */
    bool quarantined; /* bytes of the handles open for writing are in rejected/ */
    bool closing;     /* a flush was answered: the last close may be on its way */
    /* The last write may be a fragment of one, whose rest is on its way. */
    int64_t fragment_until; /* monotonic ms; 0: it is not */
    pid_t fragment_by;
};

/* In the state CLEAN; NULL without memory. */
struct tfs_draft *tfs_draft_create(struct tfs_span bytes);
void tfs_draft_free(struct tfs_draft *draft); /* NULL is legal */
/* Takes over what is prepared of these very bytes; NULL: nothing is. */
struct tfs_prepared *tfs_draft_take_prepared(struct tfs_draft *draft);

/* Takes the event, and says if it means something in this state. */
bool tfs_draft_take(struct tfs_draft *draft, enum tfs_draft_event event);
/* Does a commit point have something to check or to refuse? So has the end of the mount to keep. */
bool tfs_draft_is_unchecked(const struct tfs_draft *draft);

/* May what it holds become an edit, as it is or with a few bytes more? */
bool tfs_draft_may_be_accepted(const struct tfs_draft *draft);

/* The bytes go from memory into a file. Where there is no room for it they stay, and nobody tries
 * again. */
void tfs_draft_spill(struct tfs_draft *draft);
/* They come back if they went there. */
int tfs_draft_unspill(struct tfs_draft *draft);

uint64_t tfs_draft_size(const struct tfs_draft *draft);
/* 0 or -ENOMEM, or what the file of a sparse one says. */
int tfs_draft_resize(struct tfs_draft *draft, uint64_t size);
/* Is it checked where it lies, so that nobody may write to it meanwhile? */
bool tfs_draft_is_held(const struct tfs_draft *draft);

/* Resizes, and lets go of memory that is no longer needed. 0 or -ENOMEM. */
int tfs_bytes_resize(struct tfs_buf *bytes, size_t size);

#endif
