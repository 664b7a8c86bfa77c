/*
 * A save and the records of a journal -> the document that the save would be with their edits.
 *
 * A journal is trusted with no more than a user's text: a document that is returned was checked
 * against the save. Nothing is written, and save->doc stays.
 */
#ifndef TFS_FS_RECOVERY_APPLY_H
#define TFS_FS_RECOVERY_APPLY_H

#include "fs/recovery/steps.h"

/* r->doc: the save with the edits that files of ours lack, so many as r->count says; r->foreign:
 * how many there are of other files. A failure other than ENOMEM says why they do not fit. */
int tfs_recovery_apply(struct tfs_recovery *r, struct tfs_error *err);

/* Can a save hold that chunk, where it has `before`? It may not decode. */
bool tfs_recovery_fits(const struct tfs_save *save, const struct tfs_doc *made,
                       const struct tfs_chunk *before, const struct tfs_chunk *after);

/* Can edits make what is common to `made` of what the save has? EBADMSG: no. */
int tfs_recovery_check_common(const struct tfs_save *save, const struct tfs_doc *made,
                              struct tfs_error *err);

/* Can edits make `after` of `before`, which are of one key of two documents of the save (NULL:
 * there is none), and does it decode? EBADMSG: no. */
int tfs_recovery_check(struct tfs_save *save, struct tfs_doc *made, const struct tfs_chunk *before,
                       const struct tfs_chunk *after, struct tfs_error *err);

/* Makes r->doc what the save reads as once it is written, where that is one file. */
int tfs_recovery_read_again(struct tfs_recovery *r, struct tfs_error *err);

/* Does r->doc say anything that the save does not? NULL says nothing. */
bool tfs_recovery_says_more(const struct tfs_recovery *r);

#endif
