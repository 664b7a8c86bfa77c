/*
 * A save and the journal beside it -> the save as it was last accepted (docs/journal.md).
 *
 * With the lock the edits of the journal are written into the save and the journal is removed;
 * without it they are applied in memory, and nothing is written. Edits that do not belong to what
 * the save holds go to NAME.unsaved-DATE/.
 */
#ifndef TFS_FS_RECOVERY_RECOVER_H
#define TFS_FS_RECOVERY_RECOVER_H

#include "formats/format.h"

/* To be called once, right after the save was opened. *notice: what a person should know, without
 * the save's name, or empty. Sets save->no_journal where the journal's name is not ours to use.
 * After a failure the save is not up to date, and its journal is still there. */
int tfs_recover(struct tfs_save *save, char notice[TFS_ERROR_TEXT], struct tfs_error *err);

#endif
