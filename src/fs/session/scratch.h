/*
 * Scratch: files, directories and symbolic links in memory, beside the names that schema and
 * document give; and their names. To find, add or remove one of n names costs about log2(n)
 * comparisons, whatever the names are: a tree of files that somebody made to be slow is as fast as
 * any other.
 *
 * Knows no inode, no draft and no commit. Not thread-safe: the caller's lock guards it.
 */
#ifndef TFS_FS_SESSION_SCRATCH_H
#define TFS_FS_SESSION_SCRATCH_H

#include "base/buf.h"

#include <sys/stat.h>
#include <time.h>

/* All names of scratch files, and how much they are. */
struct tfs_scratch_tree {
    void *by_name, *by_serial; /* tsearch(3): struct tfs_link, by directory first */
    uint64_t used, limit;      /* bytes of scratch */
    uint64_t uncapped;         /* the same of files with TFS_SCRATCH_UNCAPPED */
    uint64_t next_serial;
};

void tfs_scratch_tree_init(struct tfs_scratch_tree *tree, uint64_t limit);
void tfs_scratch_tree_release(struct tfs_scratch_tree *tree);

/* ---- files ----------------------------------------------------------------------------------- */

/* The type in st_mode. */
enum tfs_scratch_kind {
    TFS_SCRATCH_FILE = S_IFREG,
    TFS_SCRATCH_DIRECTORY = S_IFDIR,
    TFS_SCRATCH_SYMLINK = S_IFLNK,
};

enum tfs_scratch_flags {
    TFS_SCRATCH_CONTROL = 1,  /* below .terrainfs: not to be changed by users */
    TFS_SCRATCH_UNCAPPED = 2, /* rejected bytes */
    TFS_SCRATCH_OURS = TFS_SCRATCH_CONTROL | TFS_SCRATCH_UNCAPPED, /* change without users */
};

#define TFS_SCRATCH_COST 256 /* bytes that a name counts beside its content */

struct tfs_scratch {
    uint64_t id;
    enum tfs_scratch_kind kind;
    unsigned flags;
    struct tfs_buf bytes; /* of a symbolic link: the target */
    mode_t mode;          /* permissions */
    uid_t uid;
    gid_t gid;
    struct timespec atime, mtime, ctime;
    struct tfs_link *link; /* its name; NULL: it has none */
    uint64_t parent;       /* if linked */
};

/* Without a name; NULL without memory. */
struct tfs_scratch *tfs_scratch_create(uint64_t id, enum tfs_scratch_kind kind, unsigned flags);
/* It has no name any more. NULL is legal. */
void tfs_scratch_free(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch);
/* Lets go of the bytes: the file is of no more use, though its id may be known. */
void tfs_scratch_empty(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch);
/* Within the cap: 0, -ENOSPC, -ENOMEM. */
int tfs_scratch_resize(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch, uint64_t size);
/* Takes these bytes over as content, whatever the cap says. */
void tfs_scratch_fill(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch,
                      struct tfs_buf *bytes);
/* Bytes that fit under the cap. */
uint64_t tfs_scratch_left(const struct tfs_scratch_tree *tree);

/* ---- names ----------------------------------------------------------------------------------- */

/* Stays where it is until it is removed. */
struct tfs_link {
    uint64_t parent; /* id of the directory */
    uint64_t serial; /* its place in a listing: a listing goes on behind a name whether or not that
                      * is still there */
    struct tfs_scratch *scratch;
    const char *name;
};

struct tfs_link *tfs_link_find(const struct tfs_scratch_tree *tree, uint64_t parent,
                               const char *name);
/* The first name of a directory whose serial is not below that; NULL: there is none. */
struct tfs_link *tfs_link_from(const struct tfs_scratch_tree *tree, uint64_t parent,
                               uint64_t serial);
bool tfs_scratch_tree_is_empty(const struct tfs_scratch_tree *tree, uint64_t parent);
/* Gives a file this name: in the place of another file that has it, *replaced, which then has none
 * (NULL: it was free), and of the other name that the file had, if any. 0, -ENOSPC or -ENOMEM, and
 * nothing is done. */
int tfs_link_put(struct tfs_scratch_tree *tree, struct tfs_scratch *scratch, uint64_t parent,
                 const char *name, struct tfs_scratch **replaced);
/* Takes the name away; the file stays. */
void tfs_link_remove(struct tfs_scratch_tree *tree, struct tfs_link *link);

#endif
