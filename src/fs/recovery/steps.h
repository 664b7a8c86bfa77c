/*
 * A journal that is being recovered, and the save beside it: both read at one moment, what was
 * found out of them, and what a person is told.
 *
 * The steps are in files of their own: steps.c reads both, files.c says which edits each
 * file of a save lacks, apply.c makes the document with the edits, recover.c decides what
 * becomes of it and writes, foreign.c keeps what does not belong to the save.
 */
#ifndef TFS_FS_RECOVERY_STEPS_H
#define TFS_FS_RECOVERY_STEPS_H

#include "formats/journal.h"
#include "fs/recovery/files.h"

/* How often a step is tried anew while another program is writing. */
#define TFS_RECOVERY_TRIES 50

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
    char edits[80];           /* of tfs_recovery_edits */
    char *notice; /* TFS_ERROR_TEXT bytes, the caller's: what a person should know, or empty */
};

void tfs_recovery_release(struct tfs_recovery *r);

/* Adds to the notice. */
void tfs_recovery_say(char *notice, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "3 edits until 2026-11-22 10:20:00 were": with the verb for one edit or for several. The text is
 * there until the next one. */
const char *tfs_recovery_edits(struct tfs_recovery *r, size_t count, const char *was,
                               const char *were);

/* Reads journal and save until both are of one moment: the program that has the lock may be
 * changing them. 1; 0 when there is no journal that can be used: save->no_journal says whether its
 * name is not ours to use. EBUSY: another program goes on changing them. */
int tfs_recovery_read(struct tfs_recovery *r, struct tfs_error *err);

/* The document with the edits is what the save shows from now on. */
void tfs_recovery_show(struct tfs_recovery *r);

#endif
