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

/* The path beside which the journal of a save lies; to be freed. NULL: no memory. */
char *tfs_journal_beside(const struct tfs_save *save);
/* *beside: the same of an earlier version, whose journal may still be there; NULL: it had no other
 * place. */
int tfs_journal_earlier(const struct tfs_save *save, char **beside, struct tfs_error *err);

/* Removes what a killed process left when it made the journal of a save of several files; nothing
 * unless the save is locked. */
void tfs_journal_tidy(const struct tfs_save *save);

/* Appends the record that leads from `before` to `after`, made at `when`, and from `other`, too: a
 * save that is being written may hold that; NULL: none. Nothing changes: a record of nothing. Of a
 * save of several files it names those that change and their hashes, and fails where anything but
 * chunks changed. */
int tfs_record_make(struct tfs_save *save, const struct tfs_doc *before,
                    const struct tfs_doc *other, const struct tfs_doc *after, struct timespec when,
                    struct tfs_buf *out, struct tfs_error *err);

/* About how many bytes that record has, found out without making it. */
uint64_t tfs_record_size(const struct tfs_doc *before, const struct tfs_doc *after);

/* The same of an edit that leaves its save: it names no files. `overtaken`: the save was read again
 * since, and bytes that `before` does not hold are not those that the edit replaces. */
int tfs_record_make_foreign(struct tfs_save *save, const struct tfs_doc *before,
                            const struct tfs_doc *after, bool overtaken, struct timespec when,
                            struct tfs_buf *out, struct tfs_error *err);

/* ---- what a record says ---------------------------------------------------------------------- */

/* Tells what an edit replaces from all else. */
#define TFS_SUM_UNKNOWN 0 /* of records of version 1, and of bytes that could not be read */
#define TFS_SUM_NONE    1 /* there was none */

uint64_t tfs_record_sum(const struct tfs_blob *blob, const struct tfs_blob *extra, uint32_t tag);
uint64_t tfs_record_sum_common(const struct tfs_doc *doc);
/* NULL: there is none. */
uint64_t tfs_record_sum_chunk(struct tfs_save *save, const struct tfs_chunk *chunk);

/* What becomes of one chunk, or of what belongs to none. */
struct tfs_record_entry {
    bool common;            /* of what belongs to no chunk: `chunk` has only its blob */
    bool removed;           /* `chunk` has only its key */
    bool placed;            /* chunk.own is set; else it stays as it is */
    bool stays;             /* what is common stays as it is */
    struct tfs_chunk chunk; /* its bytes are slices of those of the journal */
    uint64_t replaces;      /* the sum of what was there; of what is common, also where it stays */
    struct tfs_span bytes;  /* as it stands in the record */
};

/* A failure ends the reading. */
typedef int (*tfs_record_entry_fn)(void *arg, const struct tfs_record_entry *entry,
                                   struct tfs_error *err);

/* Gives all that a record of the journal says, what is common last; of one that is no EDIT nothing.
 * EBADMSG: it is none that terrainfs writes. */
int tfs_record_read(const struct tfs_journal_text *text, size_t record, tfs_record_entry_fn fn,
                    void *arg, struct timespec *when, struct tfs_error *err);
/* Makes the edit's document say that. */
int tfs_record_put(struct tfs_edit *edit, const struct tfs_record_entry *entry,
                   struct tfs_error *err);

/* The file that holds a chunk; file 0, where the save is one file. */
struct tfs_key tfs_journal_file_of(const struct tfs_save *save, struct tfs_key chunk);

/* ---- saves of several files ------------------------------------------------------------------ */

/* What a record says of a file: the edit changes what it held when the record was made. */
struct tfs_record_file {
    struct tfs_key key;
    struct tfs_hash hash; /* all 0: there was none */
};

/* The files that an EDIT of such a save names, to be freed; *record: what follows them. */
int tfs_record_files(struct tfs_span *record, struct tfs_record_file **files, size_t *count,
                     struct tfs_error *err);

/* A FILE: this is written now, and is about to take its place. To be durable in the journal, as
 * tfs_journal_mark; NULL is legal. */
void tfs_record_wrote_put(struct tfs_buf *payload, struct tfs_record_file file, bool whole);
int tfs_record_wrote(struct tfs_journal *journal, struct tfs_record_file file, bool whole,
                     struct tfs_error *err);
int tfs_record_wrote_take(struct tfs_span payload, struct tfs_record_file *file, bool *whole);

/* Commits `doc` for a caller that keeps no journal. Where that changes several files, they are
 * first one record of a journal, so that a crash leaves all of it to be done by the next program
 * that opens the save, or nothing. After a failure what was written of it stays, and the rest not.
 */
int tfs_journal_commit(struct tfs_save *save, struct tfs_doc *doc, struct tfs_error *err);

/* Commits `doc`, which the journal `text` beside that path has made of the save. It hears of each
 * file first. */
int tfs_journal_restore(struct tfs_save *save, const char *beside,
                        const struct tfs_journal_text *text, struct tfs_doc *doc,
                        struct tfs_error *err);

/* May several files be written though no journal could be made of them, for this reason? Only where
 * there can be none: else a commit that is cut would leave half of an edit. */
bool tfs_journal_spared(int code);

/* Is the file one that the save shows (tfs_save.only)? */
bool tfs_journal_shows(const struct tfs_save *save, struct tfs_key file);

/* Do two documents differ in more than one file? */
bool tfs_journal_files_many(const struct tfs_save *save, const struct tfs_doc *before,
                            const struct tfs_doc *after);

#endif
