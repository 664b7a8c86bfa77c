/*
 * The groups of a document: which there are, and which a save can hold. Group 0 is the chunks at
 * the root, and always exists; a group above 0 exists as long as it has chunks, but where the tree
 * fixes them (struct tfs_tree.fixed_groups).
 */
#ifndef TFS_FS_TREE_GROUPS_H
#define TFS_FS_TREE_GROUPS_H

#include "formats/format.h"

/* The first group from `group` on that exists; false when there is none. */
bool tfs_group_next(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    uint32_t *found);
bool tfs_group_exists(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group);

/* May a group above 0 be in this save, whether it is there or not? EINVAL with a sentence. */
int tfs_group_check(const struct tfs_save *save, const struct tfs_doc *doc, uint32_t group,
                    struct tfs_error *err);

#endif
