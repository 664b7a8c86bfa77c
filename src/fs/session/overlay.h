/*
 * The overlay: what users changed about names, on top of those that schema and document give.
 * Scratch files, directories and symbolic links in memory; whiteouts, which hide a name of the
 * schema for a while; and the directories of chunks just made, whose names come with their
 * creation.
 *
 * Knows no inode, no draft and no commit. Not thread-safe: the caller's lock guards it. Times are
 * monotonic ms.
 */
#ifndef TFS_FS_SESSION_OVERLAY_H
#define TFS_FS_SESSION_OVERLAY_H

#include "base/map.h"
#include "fs/session/links.h"
#include "fs/tree/tree.h"

struct tfs_overlay {
    struct tfs_map names;     /* directory id -> struct tfs_scratch_names */
    struct tfs_map whiteouts; /* computed id -> struct tfs_whiteout */
    struct tfs_map fresh;     /* computed id of a chunk's directory -> struct tfs_fresh */
    struct tfs_map groups; /* computed ids of directories of groups that are there without chunks */
    uint64_t used, limit;  /* bytes of scratch */
    uint64_t uncapped;     /* the same of files with TFS_SCRATCH_UNCAPPED */
    uint64_t next_serial;
    int64_t linger_ms;
};

void tfs_overlay_init(struct tfs_overlay *overlay, uint64_t limit, unsigned linger_ms);
void tfs_overlay_release(struct tfs_overlay *overlay);

/* ---- scratch --------------------------------------------------------------------------------- */

enum tfs_scratch_kind { TFS_SCRATCH_FILE, TFS_SCRATCH_DIRECTORY, TFS_SCRATCH_SYMLINK };

enum tfs_scratch_flags {
    TFS_SCRATCH_CONTROL = 1,  /* below .terrainfs: not to be changed by users */
    TFS_SCRATCH_UNCAPPED = 2, /* removed files that are still open, rejected bytes */
    TFS_SCRATCH_REPLACED =
        4, /* another file was renamed over it: its bytes stay for late openers */
    TFS_SCRATCH_LEFT =
        8, /* a file of the save that was renamed away; its inode's node says which */
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

/* The scratch names of one directory. */
struct tfs_scratch_names {
    struct tfs_links links;
    size_t directories; /* how many of them are directories */
};

/* Without a name; NULL without memory. */
struct tfs_scratch *tfs_scratch_create(uint64_t id, enum tfs_scratch_kind kind, unsigned flags);
/* It has no name any more. NULL is legal. */
void tfs_scratch_free(struct tfs_overlay *overlay, struct tfs_scratch *scratch);
/* Lets go of the bytes: the file is of no more use, though its id may be known. */
void tfs_scratch_empty(struct tfs_overlay *overlay, struct tfs_scratch *scratch);
/* Within the cap: 0, -ENOSPC, -ENOMEM. */
int tfs_scratch_resize(struct tfs_overlay *overlay, struct tfs_scratch *scratch, uint64_t size);
/* Takes these bytes over as content, whatever the cap says. */
void tfs_scratch_fill(struct tfs_overlay *overlay, struct tfs_scratch *scratch,
                      struct tfs_buf *bytes);
/* Moves the bytes out. */
struct tfs_buf tfs_scratch_take(struct tfs_overlay *overlay, struct tfs_scratch *scratch);
/* Bytes that fit under the cap. */
uint64_t tfs_scratch_left(const struct tfs_overlay *overlay);

struct tfs_link *tfs_link_find(const struct tfs_overlay *overlay, uint64_t parent,
                               const char *name);
/* The first name of a directory whose serial is not below that; NULL: there is none. */
struct tfs_link *tfs_link_from(const struct tfs_overlay *overlay, uint64_t parent, uint64_t serial);
bool tfs_overlay_is_empty(const struct tfs_overlay *overlay, uint64_t parent);
/* Scratch directories in a directory. */
size_t tfs_link_directories(const struct tfs_overlay *overlay, uint64_t parent);
/* A name that is free: 0, -ENOSPC, -ENOMEM. */
int tfs_link_add(struct tfs_overlay *overlay, uint64_t parent, const char *name,
                 struct tfs_scratch *scratch);
/* A name that may be another file's, *replaced, which then has none; NULL: it was free. */
int tfs_link_replace(struct tfs_overlay *overlay, uint64_t parent, const char *name,
                     struct tfs_scratch *scratch, struct tfs_scratch **replaced);
/* Gives a file that has a name another one, in the place of a file that has it now, *replaced. 0 or
 * -ENOMEM, and nothing is done. */
int tfs_link_move(struct tfs_overlay *overlay, struct tfs_scratch *scratch, uint64_t new_parent,
                  const char *new_name, struct tfs_scratch **replaced);
/* Takes the name away; the file stays. */
void tfs_link_remove(struct tfs_overlay *overlay, struct tfs_link *link);

/* ---- whiteouts ------------------------------------------------------------------------------- */

/* A file or directory of the schema that the user removed or renamed away. */
struct tfs_whiteout {
    struct tfs_node node;
    int64_t deadline;    /* it shows again then (an optional file: is stored as absent) */
    unsigned holders;    /* orphans of it that are still open: no end before their last close */
    bool unlinked;       /* or renamed onto another file of the save, which has its content now: no
                          * scratch file is the only copy */
    const void *carrier; /* whose edit stores it as absent, until that edit is committed or taken
                          * back; NULL: nobody's */
};

struct tfs_whiteout *tfs_whiteout_find(const struct tfs_overlay *overlay,
                                       const struct tfs_node *node);
/* Made, or begun anew; NULL without memory. */
struct tfs_whiteout *tfs_whiteout_add(struct tfs_overlay *overlay, const struct tfs_node *node);
void tfs_whiteout_remove(struct tfs_overlay *overlay, const struct tfs_node *node);
/* Its last orphan is closed, or it could not be ended: it stays a while longer. */
void tfs_whiteout_linger(const struct tfs_overlay *overlay, struct tfs_whiteout *whiteout);

/* ---- directories of groups ------------------------------------------------------------------- */

/* `lods`, `lods/2` and `lods/2/chunks`, or `regions` and what is in it. The tree knows such a
 * directory as long as chunks are below it. cp -r and tar make a directory before what it holds, rm
 * -r removes it afterwards. So a directory that a user made, or whose last chunk a user removed,
 * stays until it is removed or the mount ends; the save knows nothing of it. */
bool tfs_overlay_has_group(const struct tfs_overlay *overlay, const struct tfs_node *node);
int tfs_overlay_add_group(struct tfs_overlay *overlay,
                          const struct tfs_node *node); /* 0, -ENOMEM */
void tfs_overlay_remove_group(struct tfs_overlay *overlay, const struct tfs_node *node);
/* How many such directories in `dir` the document knows nothing of. */
size_t tfs_overlay_count_groups(const struct tfs_overlay *overlay, struct tfs_save *save,
                                const struct tfs_doc *doc, const struct tfs_node *dir);

/* ---- directories just made ------------------------------------------------------------------- */

struct tfs_fresh {
    struct tfs_node node;              /* the chunk's directory */
    bool hidden;                       /* names not created yet are absent */
    int64_t deadline;                  /* of hiding */
    uint32_t created;                  /* bit i: chunk.files[i] was created */
    uint32_t directories;              /* bit i: directory TFS_DIR_SUB + i was made */
    struct tfs_written_values *values; /* for the store's thread alone */
};

/* Of the chunk that the node belongs to; NULL: it is not fresh. */
struct tfs_fresh *tfs_fresh_find(const struct tfs_overlay *overlay, const struct tfs_node *node);
/* Makes room, so that the next tfs_fresh_add needs memory for itself only; 0 or -ENOMEM. */
int tfs_fresh_reserve(struct tfs_overlay *overlay);
/* NULL without memory. */
struct tfs_fresh *tfs_fresh_create(void);
void tfs_fresh_free(struct tfs_fresh *fresh); /* NULL is legal */
/* `fresh` is taken over. */
void tfs_fresh_add(struct tfs_overlay *overlay, const struct tfs_node *node,
                   struct tfs_fresh *fresh);
void tfs_fresh_remove(struct tfs_overlay *overlay, const struct tfs_node *node);
/* Something was done in the directory: its absent names stay hidden a while longer. */
void tfs_fresh_touch(struct tfs_overlay *overlay, const struct tfs_node *node);
/* The name is absent again. */
void tfs_fresh_hide(struct tfs_overlay *overlay, const struct tfs_node *node);

/* ---- names ----------------------------------------------------------------------------------- */

/* Is this name of the schema away? */
bool tfs_overlay_hides(const struct tfs_overlay *overlay, const struct tfs_node *node);
/* The name is there again, or for the first time. */
void tfs_overlay_reveal(struct tfs_overlay *overlay, const struct tfs_node *node);
/* The chunk is gone, and everything that was said about names in it. */
void tfs_overlay_forget_chunk(struct tfs_overlay *overlay, const struct tfs_node *chunk,
                              const struct tfs_tree *tree);
/* One more name of its chunk was removed: those before it wait anew, so that a directory can be
 * removed file by file, however slowly. */
void tfs_overlay_linger_chunk(struct tfs_overlay *overlay, const struct tfs_node *node,
                              const struct tfs_tree *tree);
/* Something was written in the group of this node: names of its own that are away stay so a while
 * longer. */
void tfs_overlay_linger_group(struct tfs_overlay *overlay, const struct tfs_node *node);
/* Names that are away for now. */
size_t tfs_overlay_count_hidden(const struct tfs_overlay *overlay);

/* What ends at `now` in the tree of a store. *next: sooner when there is more to come before that;
 * 0 is never. */

/* The next whiteout that ends (`all`: any): start with *at = 0; NULL: there is no more. It lingers
 * once more, unless the caller removes it, which it must not do during the walk. */
struct tfs_whiteout *tfs_whiteout_expire(struct tfs_overlay *overlay, uint16_t store, int64_t now,
                                         bool all, size_t *at, int64_t *next);
/* A directory whose absent names show from now on; NULL: there is no more. */
struct tfs_fresh *tfs_fresh_expire(struct tfs_overlay *overlay, uint16_t store, int64_t now,
                                   int64_t *next);

#endif
