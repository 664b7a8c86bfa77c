/*
 * What a journal says of the files of a save, and what they hold now -> which of its edits each of
 * them lacks (docs/journal.md), and the document that the save would be with these. Whoever opens a
 * save and whoever has it open when another program writes it ask the same here.
 *
 * A journal is trusted with no more than a user's text: a document that is returned was checked
 * against the save. Nothing is written, and save->doc stays.
 */
#ifndef TFS_FS_RECOVERY_EDITS_H
#define TFS_FS_RECOVERY_EDITS_H

#include "formats/journal.h"

/* ---- files ----------------------------------------------------------------------------------- */

/* A file is ours when it holds what the journal began with, or what a rewrite says that it wrote;
 * any other was changed by another program, and no edit is put onto it. A save that is one file is
 * file 0. */
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

/* ---- a journal and the save beside it -------------------------------------------------------- */

struct tfs_recovery {
    struct tfs_save *save;
    const char *beside; /* where the journal lies */
    struct tfs_journal_text text;
    struct tfs_recover_files files;
    size_t count;         /* edits that the save lacks */
    struct timespec last; /* when the last one was made */
    struct tfs_doc *doc;  /* the save with them */
    size_t foreign;       /* edits of files that another program changed */
    /* The save with those; NULL: there are none, or they do not fit. */
    struct tfs_doc *theirs;
    char why[TFS_ERROR_TEXT]; /* these are foreign */
    char edits[80];           /* in words */
    char *notice; /* TFS_ERROR_TEXT bytes, the caller's: what a person should know, or empty */
};

void tfs_recovery_release(struct tfs_recovery *r);

/* Adds to the notice. */
void tfs_recovery_say(char *notice, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads journal and save until both are of one moment: the program that has the lock may be
 * changing them. 1; 0 when there is no journal that can be used: save->no_journal says whether its
 * name is not ours to use. EBUSY: another program goes on changing them. */
int tfs_recovery_read(struct tfs_recovery *r, struct tfs_error *err);

/* ---- the document with its edits ------------------------------------------------------------- */

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
