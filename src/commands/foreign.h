/*
 * Edits that were set aside, by commands: the journal in NAME.unsaved-DATE/.
 */
#ifndef TFS_COMMANDS_FOREIGN_H
#define TFS_COMMANDS_FOREIGN_H

#include "commands/cli.h"
#include "fs/recovery/foreign.h"

/* Has the directory such a journal and no files of the tree? Version 0.1 set edits aside as files,
 * and beside them what could not be one. */
bool tfs_foreign_alone(const char *dir);
/* What is in the directory, as `key: value`. */
enum tfs_status tfs_foreign_info(struct tfs_cli *cli, const char *dir, struct tfs_buf *out);
/* *doc: the save with what is taken of it; what is not is said, *left of them. */
enum tfs_status tfs_foreign_onto(struct tfs_cli *cli, struct tfs_save *save, const char *dir,
                                 struct tfs_doc **doc, size_t *left);

#endif
