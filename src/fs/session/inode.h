/*
 * Inodes: which id means which file, who has it open, and when it is of no more use.
 *
 * The id of a file of the schema is one text that never changes, so that what the kernel keeps of
 * it stays right. A file that reads as it did when the mount began has its computed id. After a
 * change each name that is looked up gets an id of the table, and no id is given twice.
 *
 * Readers share an id, and a writer has one that no reader has: it is `taken`, and no name is given
 * it any more. An id has a record, the inode, while somebody has it open, and one of the table also
 * while the kernel knows it.
 *
 * Knows no document's content, no lens and no commit. Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_INODE_H
#define TFS_FS_SESSION_INODE_H

#include "fs/session/scratch.h"
#include "fs/session/sparse.h"

/* ---- drafts ---------------------------------------------------------------------------------- */

/*
 * What one handle wrote: nobody else sees it until a commit point takes it, and then it is what the
 * file shows. It begins at the first write, as what the file shows then, or empty where the handle
 * cuts the file. Its state:
 *
 *   CLEAN     it holds nothing that a commit point has to take
 *   DIRTY     it was written to since
 *   REFUSED   so it was, and what it says was refused; commit points try again until it is written
 *
 * Bytes that are too many for memory lie in a temporary file (sparse.h).
 */
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
    bool cut; /* to 0: it takes the place of whatever others made of the file meanwhile */
    struct tfs_buf bytes;
    struct tfs_sparse *sparse; /* has the bytes; NULL: they are in memory */
    /* What it began from, or what its last commit made: the file as it was there. */
    struct tfs_doc *doc; /* NULL: the draft lacks what others wrote */
    struct tfs_node node;
    uint64_t stamp;
    uint64_t accepted; /* bytes before this are not its own, or are taken */
    uint64_t scanned;  /* bytes that were looked at while they were appended */
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

/* ---- inodes ---------------------------------------------------------------------------------- */

/* An array that is open for writing. */
struct tfs_open_array {
    struct tfs_node node;     /* with the key that it has in the document below the pages */
    struct tfs_sparse *pages; /* over what the document says that it was opened in */
    int failed; /* why a write is there in part, or what was taken is set aside; 0: neither */
    enum tfs_draft_state state;
};

/* The stamp of a text that an id does not show: somebody writes the file through it, or did. */
#define TFS_STAMP_TAKEN (UINT64_MAX - 1)

struct tfs_inode {
    uint64_t id;
    struct tfs_node node; /* the file of the schema: its key is that in `doc`, or an old one */
    struct tfs_scratch *scratch;  /* or one in memory; else NULL */
    struct tfs_open_array *array; /* of an array that is open for writing */
    uint64_t stamp;               /* of the text that it shows (tree/views.h), or TAKEN */
    struct tfs_doc *doc; /* which its readers read; NULL: there are none. Of a taken one: its name
                          * is gone, and who has it open goes on with this */
    uint64_t refs;       /* of the kernel (lookups), of jobs and verbs under way */
    struct tfs_handle *handles; /* open, readers included */
};

struct tfs_inodes {
    struct tfs_scratch_tree *scratch_tree;
    struct tfs_map inodes; /* id -> struct tfs_inode */
    struct tfs_map open;   /* those of them that have handles, or an array */
    struct tfs_map files;  /* computed id -> struct tfs_inode that its name is given; a taken one
                            * only as long as the name has no accepted text */
    uint64_t next_id;
};

void tfs_inodes_init(struct tfs_inodes *inodes, struct tfs_scratch_tree *tree);
/* Before the scratch files. */
void tfs_inodes_release(struct tfs_inodes *inodes);

/* ---- ids ------------------------------------------------------------------------------------- */

struct tfs_inode *tfs_inode_find(const struct tfs_inodes *inodes, uint64_t id);
/* The id that a name gets whose text has this stamp. `alone`: it is for this one LOOKUP, and shows
 * the text in this document; NULL: others get it, too. Counts as a lookup. 0 or -ENOMEM. */
int tfs_inode_give(struct tfs_inodes *inodes, const struct tfs_node *node, uint64_t stamp,
                   struct tfs_doc *alone, uint64_t *id);
/* The record of a computed id that has none, for who opens it; NULL without memory. */
struct tfs_inode *tfs_inode_make_computed(struct tfs_inodes *inodes, const struct tfs_node *node);
/* A taken id for a file of the schema. `named`: its name is given this one until it has a text.
 * NULL without memory. */
struct tfs_inode *tfs_inode_make_taken(struct tfs_inodes *inodes, const struct tfs_node *node,
                                       bool named);
/* A scratch file without a name; NULL without memory. */
struct tfs_inode *tfs_inode_make_scratch(struct tfs_inodes *inodes, enum tfs_scratch_kind kind,
                                         unsigned flags);
/* Frees the inode when nothing refers to it any more. */
void tfs_inode_drop(struct tfs_inodes *inodes, struct tfs_inode *inode);

/* The next inode of the file with this computed id that somebody has open, from *at = 0 on; NULL:
 * there is none. */
struct tfs_inode *tfs_inode_next_open(const struct tfs_inodes *inodes, uint64_t file, size_t *at);

/* ---- what it is ------------------------------------------------------------------------------ */

/* Has anybody who reads it through the kernel's pages open? */
bool tfs_inode_has_reader(const struct tfs_inode *inode);
/* Has anybody who writes it open? */
bool tfs_inode_has_writer(const struct tfs_inode *inode);
/* Is it taken, and its name another file's, or nobody's? */
bool tfs_inode_is_gone(const struct tfs_inode *inode);
/* The inode of a name that was created and has no accepted text yet; NULL: it has one. */
struct tfs_inode *tfs_inode_unborn(const struct tfs_inodes *inodes, const struct tfs_node *node);
/* The draft of who opened it first of those that have one; NULL: nobody has. */
struct tfs_draft *tfs_inode_first_draft(const struct tfs_inode *inode);
/* It has an accepted text, which no draft has that began before. */
void tfs_inode_is_born(struct tfs_inodes *inodes, const struct tfs_node *node);
/* What was written to an array goes. */
void tfs_inode_end_array(struct tfs_inode *inode);
/* Its name is given another one from now on. */
void tfs_inode_lose_name(struct tfs_inodes *inodes, struct tfs_inode *inode);
/* So it is, because somebody writes the file through it. */
void tfs_inode_take(struct tfs_inodes *inodes, struct tfs_inode *inode);
/* Its name is gone: who has it open goes on with what it was in this document. */
void tfs_inode_leave(struct tfs_inodes *inodes, struct tfs_inode *inode, struct tfs_doc *doc);
/* Makes a scratch file a taken id of the file `node`. */
void tfs_inode_attach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      const struct tfs_node *node);

/* ---- open files ------------------------------------------------------------------------------ */

int tfs_handle_open(struct tfs_inodes *inodes, struct tfs_inode *inode, bool writer, bool append,
                    struct tfs_handle **handle);
/* Frees the handle when the kernel has released it, no job needs it, and a commit point has taken
 * what it wrote, or refused it. */
void tfs_handle_drop(struct tfs_handle *handle);

#endif
