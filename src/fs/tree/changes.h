/*
 * Which names read differently in one document than in another. Knows the tree and no state.
 */
#ifndef TFS_FS_TREE_CHANGES_H
#define TFS_FS_TREE_CHANGES_H

#include "fs/tree/tree.h"

enum tfs_changed {
    TFS_CHANGED_FILE, /* a file reads differently; one that came or went as well */
    TFS_CHUNK_CAME,   /* the directory of a chunk */
    TFS_CHUNK_WENT,
};

/* `file`: what the schema says of it; NULL: it is a directory. */
typedef void (*tfs_changed_fn)(void *arg, const struct tfs_node *node, const struct tfs_file *file,
                               enum tfs_changed how);

/* May name too many, never too few. A chunk that came or went is named before its files. */
void tfs_changes_each(struct tfs_save *save, const struct tfs_doc *before,
                      const struct tfs_doc *after, tfs_changed_fn changed, void *arg);

/* Does the file come and go, so that its directory reads differently with it? */
static inline bool tfs_comes_and_goes(const struct tfs_file *file)
{
    return file->lens->exists != NULL || file->count != NULL;
}

#endif
