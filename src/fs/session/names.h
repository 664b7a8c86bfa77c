/*
 * Names: what users did to the names that schema and document give. There is one record for each
 * directory of a chunk and of a group, with all that is in it, and one for the root of a save:
 * which names are hidden, and which directories were made here. A directory without a record is at
 * rest and shows what schema and document give.
 *
 * The clock. Two seconds after the last change of a directory, when none of its files is open for
 * writing, it is at rest (tfs_names_rest): hidden names show again, and optional files that were
 * unlinked are stored as absent.
 *
 * Knows no inode, no draft and no commit. Not thread-safe: the caller's lock guards it. Times are
 * monotonic ms.
 */
#ifndef TFS_FS_SESSION_NAMES_H
#define TFS_FS_SESSION_NAMES_H

#include "base/map.h"
#include "fs/tree/tree.h"

/* What becomes of a hidden name. */
enum tfs_hiding {
    TFS_HIDING_PASSES,    /* it shows again at rest */
    TFS_HIDING_UNCREATED, /* an optional file that nobody created in a chunk just made: stored as
                           * absent with an edit of the chunk; at rest it shows */
    TFS_HIDING_UNLINKED, /* an optional file is stored as absent, with the next edit of its chunk or
                          * at rest; any other shows at rest */
};

struct tfs_hidden_name {
    struct tfs_node node; /* its key may be old, as that of its directory */
    enum tfs_hiding hiding;
};

#define TFS_NAMES_NEVER INT64_MAX

struct tfs_name_directory {
    struct tfs_node top; /* its key may be old: the chunk may have been moved */
    struct tfs_hidden_name *hidden;
    size_t hidden_count;
    uint64_t made; /* bit i: directory i of the scope: of a chunk, until it is at rest; of a group,
                    * until it is removed */
    int64_t changed;                   /* TFS_NAMES_NEVER: it waits for an answer, or is at rest */
    struct tfs_written_values *values; /* of a chunk just made; for the store's thread alone */
};

struct tfs_names {
    struct tfs_map directories; /* id of `top` -> struct tfs_name_directory */
    int64_t rest_ms;
    int64_t due; /* nothing is at rest before */
};

void tfs_names_init(struct tfs_names *names, unsigned rest_ms);
void tfs_names_release(struct tfs_names *names);

/* The record of the chunk, the group or the root that the node belongs to; NULL: it is at rest. */
struct tfs_name_directory *tfs_names_of(const struct tfs_names *names, const struct tfs_node *node);
/* Is the name away? *hiding, which may be NULL, says what becomes of it. */
bool tfs_names_hides(const struct tfs_names *names, const struct tfs_node *node,
                     enum tfs_hiding *hiding);
/* Was the directory made here: of a chunk, which is not at rest since, or of a group? */
bool tfs_names_made(const struct tfs_names *names, const struct tfs_node *directory);
/* Is the node's chunk not at rest since it was made? */
bool tfs_names_is_new(const struct tfs_names *names, const struct tfs_node *node);
/* Names that are away, and chunks just made. */
size_t tfs_names_count(const struct tfs_names *names);

/* ---- changes, with which the directory's time begins ----------------------------------------- */

/* The name is away; 0 or -ENOMEM. */
int tfs_names_hide(struct tfs_names *names, const struct tfs_node *node, enum tfs_hiding hiding);
/* The name is there, if the document has it. */
void tfs_names_show(struct tfs_names *names, const struct tfs_node *node);
/* A directory of a group was made, or is to stay; 0 or -ENOMEM. */
int tfs_names_add(struct tfs_names *names, const struct tfs_node *directory);
/* It was removed. */
void tfs_names_drop(struct tfs_names *names, const struct tfs_node *directory);
/* A chunk's directory or that of a group is being made, with all names of its schema hidden. Its
 * time begins when somebody touches it. 0 or -ENOMEM. */
int tfs_names_make(struct tfs_names *names, const struct tfs_node *top, struct tfs_schema schema);
/* Something else was done in it. Group directories are not at rest while their chunks change. */
void tfs_names_touch(struct tfs_names *names, const struct tfs_node *node);

/* ---- without --------------------------------------------------------------------------------- */

/* It is stored as absent: a name that was unlinked is what the document says of it. */
void tfs_names_stored(struct tfs_names *names, const struct tfs_node *node);
/* Somebody said what is in the chunk of the node: nothing of it is stored as absent. */
void tfs_names_keep_hidden(struct tfs_names *names, const struct tfs_node *node);
/* The directory is at rest. */
void tfs_names_end(struct tfs_names *names, struct tfs_name_directory *dir);
/* The chunk or group is gone, and everything that was said of its names. */
void tfs_names_forget(struct tfs_names *names, const struct tfs_node *node);

/* Gives each directory of a store whose time is over (`all`: each) to `end`. Returns when the next
 * one is due, 0: not known. */
typedef void (*tfs_names_end_fn)(void *arg, struct tfs_name_directory *dir);
int64_t tfs_names_rest(struct tfs_names *names, uint16_t store, int64_t now, bool all,
                       tfs_names_end_fn end, void *arg);

#endif
