/*
 * The names of a save: schema (formats/format.h, struct tfs_tree) + document -> directories and
 * files.
 *
 * Knows no FUSE and no handles. What users changed about names (whiteouts, scratch files, renamed
 * nodes) is the session's, on top of this. A text goes from here to the lens of its file, onto an
 * edit of the caller's.
 *
 * Paths are relative to the root of the tree, without leading or trailing slash; the root is "".
 */
#ifndef TFS_FS_TREE_H
#define TFS_FS_TREE_H

#include "fs/node.h"

/* The file of the schema; NULL for a directory. */
const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node);
/* What the lens of a file is asked about. */
struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node);

/* Does the node exist in this document (chunk there, optional file there, group there): 1 or 0? For
 * a chunk the node is found by slot through its key. Negative: that cannot be found out now,
 * because the chunk cannot be fetched (EBUSY: another program holds the save locked). */
int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node);

/* The same of a file, also of one that `-o views=` leaves out: is it in the save? */
int tfs_node_exists_anyway(struct tfs_save *save, const struct tfs_doc *doc,
                           const struct tfs_node *node);

/* Does `-o views=` leave the name out: of a file, or of a directory of nothing but such files? It
 * is not there then, except the stored bytes of a damaged chunk. */
bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node);

/* May the file be written? False: read-only file, read-only save, a file of a damaged chunk other
 * than the one of its stored bytes. */
bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node);

/* Puts a text onto an edit, as the file's lens does. Refused: EACCES, a file for looking; EBADMSG,
 * one of a damaged chunk, or what the lens says. */
int tfs_node_put(struct tfs_save *save, struct tfs_edit *edit, const struct tfs_node *node,
                 struct tfs_span text, struct tfs_put *put, struct tfs_error *err);
/* The same from document to document. *after has the version of `doc` where the text changes
 * nothing. */
int tfs_node_apply(struct tfs_save *save, struct tfs_doc *doc, const struct tfs_node *node,
                   struct tfs_span text, struct tfs_put *put, struct tfs_doc **after,
                   struct tfs_error *err);

/* May a group above 0 be in this save, whether it is there or not? EINVAL with a sentence. */
int tfs_tree_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                         struct tfs_error *err);

/* The entry `name` of directory `dir`: 0, -ENOENT, or what keeps from finding it. `must_exist`
 * false: a name of the schema is found even if the optional file or the group is absent now (for
 * creating it). */
int tfs_tree_lookup(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *dir,
                    const char *name, bool must_exist, struct tfs_node *node);

/* The directory that holds `node`; the root's is the root. */
struct tfs_node tfs_tree_parent(const struct tfs_save *save, const struct tfs_node *node);

/* Appends the entry's own name, or its path from the root (no NUL). */
void tfs_tree_name(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);
void tfs_tree_path(const struct tfs_save *save, const struct tfs_doc *doc,
                   const struct tfs_node *node, struct tfs_buf *out);

/* The node of a path: 0, -ENOENT, -ENOTDIR, or what keeps from finding it. */
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

/* Number of directories in a directory (for st_nlink); never looks into a chunk. */
size_t tfs_tree_subdirectories(struct tfs_save *save, const struct tfs_doc *doc,
                               const struct tfs_node *dir);

#endif
