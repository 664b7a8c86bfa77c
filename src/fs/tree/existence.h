/*
 * Which names of the schema exist in a document, and which of them can be written. What users
 * changed about names is the session's, on top of this.
 */
#ifndef TFS_FS_TREE_EXISTENCE_H
#define TFS_FS_TREE_EXISTENCE_H

#include "fs/tree/node.h"

/* The file of the schema; NULL for a directory. */
const struct tfs_file *tfs_node_file(const struct tfs_save *save, const struct tfs_node *node);
/* Where the file is, for its lens. */
struct tfs_at tfs_node_at(const struct tfs_save *save, const struct tfs_node *node);

/* Does the node exist in this document: 1 or 0? The chunk of a node is found by its key. Negative:
 * nobody can tell now, because the chunk cannot be fetched (EBUSY: another program holds the save
 * locked). */
int tfs_node_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node);

/* Does `-o views=` leave the name out: of a file, or of a directory of nothing but such files? It
 * is not there then, except the stored bytes of a damaged chunk. */
bool tfs_node_is_left_out(const struct tfs_save *save, const struct tfs_node *node);

/* May the file be written? False: read-only file, read-only save, a file of a damaged chunk other
 * than the one of its stored bytes. */
bool tfs_node_writable(struct tfs_save *save, const struct tfs_doc *doc,
                       const struct tfs_node *node);

/* ---- for lookups and listings ---------------------------------------------------------------- */

/* The files of a scope. */
struct tfs_schema tfs_scope_schema(const struct tfs_save *save, enum tfs_scope scope);
/* Members of a file that is a family; 1 of another one. */
uint32_t tfs_file_members(const struct tfs_save *save, const struct tfs_doc *doc,
                          const struct tfs_file *file);
/* Does the chunk or group exist that the node belongs to? */
bool tfs_scope_exists(const struct tfs_save *save, const struct tfs_doc *doc,
                      const struct tfs_node *node);

/* What follows is asked in a scope that exists, and answers as tfs_node_exists does. */

/* Does the chunk that the node belongs to not decode? This may fetch it. */
int tfs_node_is_damaged(struct tfs_save *save, const struct tfs_doc *doc,
                        const struct tfs_node *node);
/* Does a file exist, or a directory; `damaged`: the chunk that it belongs to is. */
int tfs_file_exists(struct tfs_save *save, const struct tfs_doc *doc, const struct tfs_node *node,
                    bool damaged);
int tfs_directory_exists(struct tfs_save *save, const struct tfs_doc *doc,
                         const struct tfs_node *node, bool damaged);
/* The same of either. */
int tfs_node_exists_in_scope(struct tfs_save *save, const struct tfs_doc *doc,
                             const struct tfs_node *node);

/* ---- groups ---------------------------------------------------------------------------------- */

/* Group 0 is the chunks at the root, and always exists; a group above 0 exists as long as it has
 * chunks, but where the tree fixes them (struct tfs_tree.fixed_groups). */

/* The first group from `group` on that exists; false when there is none. */
bool tfs_group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    uint32_t *found);
bool tfs_group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group);

/* May a group above 0 be in this save, whether it is there or not? EINVAL with a sentence. */
int tfs_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    struct tfs_error *err);

#endif
