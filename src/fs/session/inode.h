/*
 * Inodes: which id means which file, who has it open, and when it is of no more use.
 *
 * An inode exists for scratch files, for files of the schema that are open, and for those with an
 * id from the table. It is one of three things, and may become another:
 *
 *   scratch == NULL    a file of the schema, `node`
 *
 *   past_why != NULL   such a file as it was in the document `past`, for those who have it open;
 *                      another inode shows the file now
 *
 *   scratch != NULL    a scratch file; `node` is the file of the schema that it was, if it was one
 *
 * An id never means two files at once: a computed id that went on to live as something else is
 * burned, its schema file gets an id from the table.
 *
 * Knows no document, no lens and no commit. Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_INODE_H
#define TFS_FS_SESSION_INODE_H

#include "fs/session/handle.h"
#include "fs/session/scratch.h"

/* An array that is open for writing. */
struct tfs_open_array {
    struct tfs_node node; /* with the key that it has in the document below the pages; */
    uint64_t version;     /* that document's, also where a copy stands for it */
    struct tfs_sparse *pages;
    uint64_t limit; /* bytes */
    int failed;     /* why a write is there in part, or what was taken is set aside; 0: neither */
    int refused;    /* what a close answered, which shows no more; others of the same file come */
    bool dirty;     /* something was written since it was taken last */
    bool told;      /* what they say was refused, and the log says so */
    bool kept;      /* what its writers wrote is in rejected/ */
};

struct tfs_inode {
    uint64_t id;
    struct tfs_node node; /* its key may be old: the chunk may have been moved */
    struct tfs_scratch *scratch;
    uint64_t lookups;             /* by the kernel, of table ids */
    struct tfs_handle *handles;   /* open, readers included, in the order of their opening */
    unsigned uses;                /* jobs and verbs under way that need it */
    struct tfs_open_array *array; /* of an array that is open for writing */
    struct tfs_doc *past;         /* of such a file: the document that it goes on with. Also while
                                   * another file is about to take its name */
    const char *past_why; /* a sentence for those who write to it; NULL: it is still the file */
};

struct tfs_inodes {
    struct tfs_overlay *overlay;
    struct tfs_map inodes; /* id -> struct tfs_inode */
    struct tfs_map files;  /* computed id -> struct tfs_inode that shows this file */
    struct tfs_map burned; /* computed ids that must not be used again */
    uint64_t next_id;
};

void tfs_inodes_init(struct tfs_inodes *inodes, struct tfs_overlay *overlay);
/* Before the overlay. */
void tfs_inodes_release(struct tfs_inodes *inodes);

/* ---- ids ------------------------------------------------------------------------------------- */

struct tfs_inode *tfs_inode_find(const struct tfs_inodes *inodes, uint64_t id);
/* Must the id of this file not be computed any more? */
bool tfs_inode_is_burned(const struct tfs_inodes *inodes, uint64_t id);
/* The inode that shows a file of the schema; NULL: it needs none now. */
struct tfs_inode *tfs_inode_of(const struct tfs_inodes *inodes, const struct tfs_node *node);
/* The same, made if there is none; NULL without memory. */
struct tfs_inode *tfs_inode_make(struct tfs_inodes *inodes, const struct tfs_node *node);
/* A scratch file without a name; NULL without memory. */
struct tfs_inode *tfs_inode_make_scratch(struct tfs_inodes *inodes, enum tfs_scratch_kind kind,
                                         unsigned flags);
/* The id under which a node is known, if it is known to anyone. */
uint64_t tfs_inode_known_id(const struct tfs_inodes *inodes, uint64_t computed);
/* The id to give out for this node, which may make an inode; 0 without memory. */
uint64_t tfs_inode_id(struct tfs_inodes *inodes, const struct tfs_node *node);
/* Frees the inode when nothing refers to it any more. */
void tfs_inode_drop(struct tfs_inodes *inodes, struct tfs_inode *inode);

/* ---- what it is ------------------------------------------------------------------------------ */

/* Has anybody who writes it open? */
bool tfs_inode_has_writer(const struct tfs_inode *inode);
/* The first draft of a name that was created, until it has an accepted text; NULL: it has one. */
struct tfs_draft *tfs_inode_unborn(const struct tfs_inode *inode);
/* It has an accepted text, which no draft has that began before. */
void tfs_inode_is_born(struct tfs_inode *inode);
/* What its handles write from now on is refused: the name is not theirs any more. */
void tfs_inode_part_handles(struct tfs_inode *inode);
/* Was something written that no commit point has taken or refused? */
bool tfs_inode_is_unchecked(const struct tfs_inode *inode);
/* What was written to an array goes. */
void tfs_inode_end_array(struct tfs_inode *inode);
/* Makes room, so that the inode can become another file, or a scratch file; 0 or -ENOMEM. */
int tfs_inode_reserve(struct tfs_inodes *inodes);
/* Makes a file of the schema the scratch file `scratch`, which is taken over. There is room. */
void tfs_inode_detach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      struct tfs_scratch *scratch);
/* Makes a file of the schema the one that it was in this document, unless it shows a past one
 * already. There is room. */
void tfs_inode_leave(struct tfs_inodes *inodes, struct tfs_inode *inode, struct tfs_doc *past,
                     const char *why);
/* Makes `inode` the one that shows `node`, which no other does; what it was goes. There is room. */
void tfs_inode_attach(struct tfs_inodes *inodes, struct tfs_inode *inode,
                      const struct tfs_node *node);

/* ---- open files ------------------------------------------------------------------------------ */

int tfs_handle_open(struct tfs_inode *inode, bool writer, bool append, struct tfs_handle **handle);
/* Frees the handle when the kernel has released it, no job needs it, and a commit point has taken
 * what it wrote, or refused it. */
void tfs_handle_drop(struct tfs_handle *handle);

#endif
