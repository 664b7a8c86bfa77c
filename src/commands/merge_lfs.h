/*
 * merge of saves that Git LFS keeps: git hands its merge drivers pointers.
 */
#ifndef TFS_COMMANDS_MERGE_LFS_H
#define TFS_COMMANDS_MERGE_LFS_H

#include "commands/cli.h"

/* Did git hand out pointers of Git LFS? */
bool tfs_merge_has_pointers(const struct tfs_cli *cli);

/* Merges what they stand for, and leaves the pointer of the result in OURS. Returns only when it
 * could not begin. */
enum tfs_status tfs_merge_by_lfs(struct tfs_cli *cli);

#endif
