/*
 * What a journal says, for tests: which of its records a save lacks, and what an EDIT makes of a
 * document.
 */
#ifndef TFS_TESTS_JOURNAL_CASE_H
#define TFS_TESTS_JOURNAL_CASE_H

#include "formats/journal.h"

/* What a rewrite made of the one file, as version 0.1 said it. */
static inline int journal_done(struct tfs_journal *journal, struct tfs_hash made,
                               struct tfs_error *err)
{
    struct tfs_buf payload = {0};

    tfs_buf_u64le(&payload, made.size);
    tfs_buf_u64le(&payload, made.low);
    tfs_buf_u64le(&payload, made.high);
    tfs_journal_append(journal, TFS_JOURNAL_DONE, tfs_buf_span(&payload), err);
    tfs_buf_release(&payload);
    return err->code;
}

static inline struct tfs_hash journal_made(const struct tfs_journal_record *record)
{
    struct tfs_record_file file = {0};
    bool whole;

    if (record->kind == TFS_JOURNAL_FILE)
        (void)tfs_record_wrote_take(record->payload, &file, &whole);
    return record->kind == TFS_JOURNAL_DONE ? record->hash : file.hash;
}

/* *first of the records that a save with this content lacks. False: the journal does not know
 * it. */
static inline bool journal_first(const struct tfs_journal_text *text, struct tfs_hash save,
                                 size_t *first)
{
    bool found = tfs_hash_equal(text->save, save);
    size_t mark = 0;

    *first = 0;
    for (size_t i = 0; i < text->count; i++) {
        const struct tfs_journal_record *record = &text->records[i];
        if (record->kind == TFS_JOURNAL_MARK) {
            mark = i + 1;
        } else if (tfs_hash_equal(journal_made(record), save)) {
            *first = mark;
            found = true;
        }
    }
    return found;
}

static inline int journal_put(void *edit, const struct tfs_record_entry *entry,
                              struct tfs_error *err)
{
    return tfs_record_put(edit, entry, err);
}

/* Makes the edit's document say what the record says. */
static inline int journal_apply(struct tfs_edit *edit, struct tfs_blob *bytes,
                                struct tfs_span record, struct timespec *when,
                                struct tfs_error *err)
{
    struct tfs_journal_record one = {.kind = TFS_JOURNAL_EDIT, .payload = record};
    const struct tfs_journal_text text = {.bytes = bytes, .save = {1, 2, 3}, .records = &one};

    return tfs_record_read(&text, 0, journal_put, edit, when, err);
}

#endif
