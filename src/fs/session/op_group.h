/*
 * Directories of groups, as users make and remove them: see names.h. With the session's lock
 * held.
 */
#ifndef TFS_FS_SESSION_OP_GROUP_H
#define TFS_FS_SESSION_OP_GROUP_H

#include "fs/session/ops.h"

/* Is this the directory that holds the groups? */
bool tfs_holds_groups(const struct tfs_node *dir);
/* 0, -ENOTEMPTY, or negative as of tfs_node_exists. */
int tfs_ops_check_empty(struct tfs_session *s, const struct tfs_node *dir);
/* A user removes this chunk, which may be the last of its group: 0 or -ENOMEM. */
int tfs_group_keep(struct tfs_session *s, const struct tfs_node *chunk);
/* mkdir and rmdir of a directory of a group: 0 or negative, where there is more to say with a
 * sentence. */
int tfs_group_make(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err);
int tfs_group_remove(struct tfs_session *s, const struct tfs_node *node, struct tfs_error *err);

#endif
