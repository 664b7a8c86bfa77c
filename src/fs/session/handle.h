/*
 * Open files, and the drafts of those that write texts and pictures.
 *
 * A draft is what one handle wrote: nobody else sees it until a commit point takes it, and then it
 * is what the file shows. It begins at the first write, as what the file shows then, or empty where
 * the handle cuts the file. Its state:
 *
 *   CLEAN     it holds nothing that a commit point has to take
 *   DIRTY     it was written to since
 *   REFUSED   so it was, and what it says was refused; commit points try again until it is written
 *
 * Bytes that are too many for memory lie in a temporary file (sparse.h). Knows no document's
 * content and no lens. Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_HANDLE_H
#define TFS_FS_SESSION_HANDLE_H

#include "fs/session/sparse.h"

enum tfs_draft_state { TFS_DRAFT_CLEAN, TFS_DRAFT_DIRTY, TFS_DRAFT_REFUSED };

/* Who wrote, as the kernel numbers those who share descriptors; and which write was the last. */
struct tfs_owner {
    uint64_t id, write;
};

#define TFS_OWNERS    8
#define TFS_OWNER_ANY 0 /* nobody knows who it was: it counts as everybody */

/* `accepted` of a draft that was cut to some other size than 0: it is no appending any more. */
#define TFS_NOT_APPENDED UINT64_MAX

struct tfs_draft {
    enum tfs_draft_state state;
    bool cut;    /* to 0: it takes the place of whatever others made of the file meanwhile */
    bool unborn; /* the name was created, and has no accepted text yet */
    struct tfs_buf bytes;
    struct tfs_sparse *sparse; /* has the bytes; NULL: they are in memory */
    /* What it began from, or what its last commit made: the file as it was there. */
    struct tfs_doc *doc; /* NULL: the draft lacks what others wrote */
    struct tfs_node node;
    uint64_t stamp;
    uint64_t accepted;       /* bytes before this are not its own, or are taken */
    uint64_t scanned, lines; /* bytes that were looked at while they were appended */
    uint64_t writes;
    struct tfs_owner owners[TFS_OWNERS]; /* with writes that no commit point has taken */
    unsigned owner_count;                /* more than there are: everybody */
    struct timespec time;                /* of the last write, or as it was set since */
};

/* Of these bytes, in the state CLEAN; NULL without memory. */
struct tfs_draft *tfs_draft_create(struct tfs_span bytes);
void tfs_draft_free(struct tfs_draft *draft); /* NULL is legal */

uint64_t tfs_draft_size(const struct tfs_draft *draft);
/* 0 or -ENOMEM, or what the file of a sparse one says. */
int tfs_draft_resize(struct tfs_draft *draft, uint64_t size);
int tfs_draft_write(struct tfs_draft *draft, uint64_t offset, struct tfs_span bytes);
/* The bytes go from memory into a file, unless they did. */
int tfs_draft_spill(struct tfs_draft *draft);

uint64_t tfs_count_lines(struct tfs_span text);
/* Its lines, as far as they are whole, need not be looked at. */
void tfs_draft_skip_lines(struct tfs_draft *draft);

/* Its handle cut the file to 0 when it was opened, which is no write: `echo x > f` closes a copy of
 * its descriptor before it writes. */
void tfs_draft_cut(struct tfs_draft *draft, struct timespec time);
/* It was written to at this time. */
void tfs_draft_wrote(struct tfs_draft *draft, uint64_t owner, struct timespec time);
/* Did this owner write something that no commit point has taken? */
bool tfs_draft_is_of(const struct tfs_draft *draft, uint64_t owner);
/* What it said after so many writes is durable. */
void tfs_draft_saved(struct tfs_draft *draft, uint64_t writes);
/* The file is `node` in `doc` with that stamp, and its text is in the draft. */
void tfs_draft_stands_on(struct tfs_draft *draft, struct tfs_doc *doc, const struct tfs_node *node,
                         uint64_t stamp);
/* It lacks what others wrote: it can only be put behind that, or in its place. */
void tfs_draft_lacks_text(struct tfs_draft *draft);

/* ---- open files ------------------------------------------------------------------------------ */

struct tfs_handle {
    struct tfs_handle *next; /* of the same inode */
    struct tfs_inode *inode;
    bool writer;
    bool append;
    bool direct;             /* what it reads and writes passes by the kernel's pages */
    bool wrote;              /* an array, since it was opened */
    bool closed;             /* what is left of it is its draft */
    unsigned jobs;           /* that need it */
    struct tfs_draft *draft; /* NULL: it has none */
    struct tfs_blob *blob;   /* what it reads, or read last: the text of that stamp */
    uint64_t stamp;
};

#endif
