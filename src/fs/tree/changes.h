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

/* Every file of the document's chunks and of the root. */
void tfs_changes_all(struct tfs_save *save, const struct tfs_doc *doc, tfs_changed_fn changed,
                     void *arg);

/* Receives a path of the tree and the bytes to store there: 0 or negative. */
typedef int (*tfs_keep_fn)(void *arg, const char *path, struct tfs_span bytes);

/* Of more chunks than these only the files are kept that have the stored bytes. */
#define TFS_CHANGES_FEW 1024

/* Gives all files that `ours` shows otherwise than `theirs`, and those that say what is stored
 * whatever `-o views=` leaves out: 0, or why the first of those was lost that were. `prefix` comes
 * before their paths. No lock is needed. */
int tfs_changes_files(struct tfs_save *save, const struct tfs_doc *theirs,
                      const struct tfs_doc *ours, const char *prefix, tfs_keep_fn keep, void *arg);

/* The same without what is for people: the files that have the stored bytes of each chunk, and
 * those of the root where something of the whole save differs. One that cannot be read is lost. */
int tfs_changes_stored(struct tfs_save *save, const struct tfs_doc *theirs,
                       const struct tfs_doc *ours, tfs_keep_fn keep, void *arg);

/* Does the file come and go, so that its directory reads differently with it? */
static inline bool tfs_comes_and_goes(const struct tfs_file *file)
{
    return file->lens->exists != NULL || file->count != NULL;
}

#endif
