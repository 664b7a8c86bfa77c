/*
 * A save and the records of a journal -> the document that the save would be with their edits.
 *
 * A journal is trusted with no more than a user's text: a document that is returned was checked
 * against the save. Nothing is written, and save->doc stays.
 */
#ifndef TFS_FS_RECOVERY_APPLY_H
#define TFS_FS_RECOVERY_APPLY_H

#include "fs/recovery/steps.h"

/* Of a save that is one file: sets r->doc, r->count and r->last from the records from r->first on.
 * A failure other than ENOMEM says why they do not fit. */
int tfs_recovery_apply(struct tfs_recovery *r, struct tfs_error *err);
/* Of several files: *doc is the save with the edits of files that are ours, or else of those that
 * another program changed; *count: of how many records. */
int tfs_recovery_apply_files(struct tfs_recovery *r, bool theirs, struct tfs_doc **doc,
                             size_t *count, struct tfs_error *err);

/* Makes r->doc what the save reads as once it is written. */
int tfs_recovery_read_again(struct tfs_recovery *r, struct tfs_error *err);

/* Does a document say anything that the save does not? NULL says nothing. */
bool tfs_recovery_says_more(const struct tfs_recovery *r, const struct tfs_doc *doc);

#endif
