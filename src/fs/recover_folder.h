/*
 * One file of a folder that has a journal, read alone -> that file with the edits that wait for it
 * in the journal of its folder (docs/journal.md).
 *
 * Nothing is written: only who opens the folder brings it up to date.
 */
#ifndef TFS_FS_RECOVER_FOLDER_H
#define TFS_FS_RECOVER_FOLDER_H

#include "fs/recovery.h"

/* `r` is of the file, whose own journal was looked at and left no notice. Shows the edits and says
 * so, or why they are not shown. Fails without memory only. */
int tfs_recover_folder(struct tfs_recovery *r, struct tfs_error *err);

#endif
