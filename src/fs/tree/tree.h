/*
 * The names of a save: schema (formats/format.h, struct tfs_tree) + document -> directories and
 * files.
 *
 * Knows no FUSE and no handles. What users changed about names (hidden names, scratch files) is the
 * session's, on top of this. A text goes from here to the lens of its file, onto an edit of the
 * caller's.
 *
 * Paths are relative to the root of the tree, without leading or trailing slash; the root is "".
 */
#ifndef TFS_FS_TREE_TREE_H
#define TFS_FS_TREE_TREE_H

#include "fs/tree/existence.h"

/* Applies a text to an edit, through the file's lens. EACCES: the file is read-only; EBADMSG: its
 * chunk is damaged, or the lens refuses the text. */
int tfs_node_put(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                 struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
/* The same from document to document. *after has the version of `doc` where the text changes
 * nothing. */
int tfs_node_apply(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_node *node,
                   struct tfs_span text, struct tfs_put *put, struct tfs_doc **after,
                   struct tfs_error *err);

/* A text may grow to this, and four times what the file has now. */
#define TFS_TEXT_MORE (UINT64_C(64) << 20)
/* The most bytes that a text of the file may have. */
uint64_t tfs_node_text_max(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node);

/* The entry `name` of directory `dir`: 0, -ENOENT, or why it cannot be found. `must_exist` false: a
 * name of the schema is found even if the optional file or the group is absent now (for creating
 * it). */
int tfs_tree_lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                    const char *name, bool must_exist, struct tfs_node *node);

/* The directory that holds `node`; the root's is the root. */
struct tfs_node tfs_tree_parent(const struct tfs_save *save, const struct tfs_node *node);

/* Appends the entry's own name, or its path from the root (no NUL). */
void tfs_tree_name(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);
void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);

/* The node of a path: 0, -ENOENT, -ENOTDIR, or why it cannot be found. */
int tfs_tree_resolve(struct tfs_save *save, const struct tfs_doc *doc, const char *path,
                     bool must_exist, struct tfs_node *node);

/* Entries of a directory in a stable order; `index` counts from 0: 1 and *node, or 0 at the end;
 * negative: what is in it cannot be found out now, as of tfs_node_exists.
 * Costs O(log n) a call. A name that is absent (optional) is skipped by giving *next > index + 1.
 */
int tfs_tree_entry(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                   size_t index, size_t *next, struct tfs_node *node);

/* The same with the names of files that come and go, and of directories of groups, that are absent:
 * users may have begun to create them, which only the session knows. */
int tfs_tree_name_of_schema(struct tfs_save *save, const struct tfs_doc *doc,
                            const struct tfs_node *dir, size_t index, size_t *next,
                            struct tfs_node *node);

/* ---- which names read differently in one document than in another ---------------------------- */

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
