/*
 * Edits of a document <-> records of a journal; and a save that has one brought up to date.
 *
 * A record says what is stored once the edit is made: the changed chunks' bytes, the keys of
 * removed chunks, changed parts. So records can be applied one after another to any state that lies
 * between, and twice. What a chunk's bytes mean is not known here. docs/journal.md has the layout.
 */
#ifndef TFS_FORMATS_JOURNAL_H
#define TFS_FORMATS_JOURNAL_H

#include "base/journal.h"
#include "formats/format.h"

/* Appends the record that leads from `before` to `after`, made at `when`; nothing when they are the
 * same. */
int tfs_record_make(struct tfs_save *save, const struct tfs_doc *before,
                    const struct tfs_doc *after, struct timespec when, struct tfs_buf *out,
                    struct tfs_error *err);

/* About how many bytes that record has, found out without making it. */
uint64_t tfs_record_size(const struct tfs_doc *before, const struct tfs_doc *after);

/* Makes the edit's document say what the record says. The chunks are slices of `bytes`, in which
 * `record` lies. EBADMSG: it is no record. */
int tfs_record_apply(struct tfs_edit *edit, struct tfs_blob *bytes, struct tfs_span record,
                     struct timespec *when, struct tfs_error *err);

#endif
