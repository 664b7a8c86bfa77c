/*
 * Foreign records: accepted edits of files that another program changed before they were saved ->
 * the journal in NAME.unsaved-DATE/; and from there into a save, chunk by chunk.
 */
#ifndef TFS_FS_RECOVERY_FOREIGN_H
#define TFS_FS_RECOVERY_FOREIGN_H

#include "fs/recovery/edits.h"

/* ---- set aside ------------------------------------------------------------------------------- */

/* *directory: where the records of what r->theirs says otherwise than `before` are (without it: of
 * all files that are not ours), and `more`, which is another one (empty: there is none), and as it
 * is a journal that does not read to its end; durable, malloc'ed. Negative: they are nowhere. */
int tfs_foreign_keep(const struct tfs_recovery *r, const struct tfs_doc *before,
                     struct tfs_span more, char **directory);

/* ---- taken in -------------------------------------------------------------------------------- */

/* Has the directory such records? */
bool tfs_foreign_is(const char *directory);
int tfs_foreign_read(const char *directory, struct tfs_journal_text *text, struct tfs_error *err);

/* Something that was not taken; `chunk` NULL: what belongs to the whole save. */
typedef void (*tfs_foreign_left_fn)(void *arg, const struct tfs_key *chunk, const char *why);

/* *doc: the save with what still is what the edits replaced, or with all that fits it (`force`).
 * What the save says already is taken without a word; all else is told to `left`. Nothing is
 * written. */
int tfs_foreign_take(struct tfs_save *save, const struct tfs_journal_text *text, bool force,
                     tfs_foreign_left_fn left, void *arg, struct tfs_doc **doc,
                     struct tfs_error *err);

/* Calls `each` once for each chunk that records change, by key; NULL: of what belongs to the whole
 * save. */
int tfs_foreign_list(const struct tfs_journal_text *text, tfs_foreign_left_fn each, void *arg,
                     struct timespec *last, size_t *edits, struct tfs_error *err);

#endif
