/*
 * What a journal says of the files of a save, and what they hold now -> which of its edits each of
 * them lacks (docs/journal.md). Whoever opens a save and whoever has it open when another program
 * writes it ask the same here.
 *
 * A file is ours when it holds what the journal began with, or what a rewrite says that it wrote;
 * any other was changed by another program, and no edit is put onto it. A save that is one file is
 * file 0.
 */
#ifndef TFS_FS_RECOVERY_FILES_H
#define TFS_FS_RECOVERY_FILES_H

#include "formats/journal.h"

struct tfs_recover_file {
    struct tfs_key key;
    struct tfs_hash now;
    bool unknown; /* it cannot be read */
    bool ours;
    bool wrote;   /* and that was said by a rewrite */
    size_t first; /* record from which on it lacks edits */
};

struct tfs_recover_files {
    struct tfs_recover_file *files; /* by key */
    size_t count;
};

/* EBADMSG: no journal of such a save; ESTALE: another program is changing it. */
int tfs_recover_files_read(struct tfs_save *save, const char *beside,
                           const struct tfs_journal_text *text, struct tfs_recover_files *files,
                           struct tfs_error *err);
/* NULL: the journal does not name it. */
struct tfs_recover_file *tfs_recover_files_find(const struct tfs_recover_files *files,
                                                struct tfs_key key);
void tfs_recover_files_release(struct tfs_recover_files *files);

#endif
