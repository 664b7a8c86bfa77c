/*
 * The files that a journal names: see files.h.
 *
 * A journal is not trusted: what it names is counted before room is made for it, and is only ever
 * compared with what the save itself knows of its files.
 */
#include "fs/recovery/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"

#define FILES_MAX ((size_t)1 << 20)

/* ---- which there are ------------------------------------------------------------------------- */

static int add_file(struct tfs_recover_files *files, struct tfs_key key, struct tfs_error *err)
{
    struct tfs_recover_file *grown = tfs_array_grow(files->files, files->count, sizeof(*grown));

    if (grown == NULL)
        return tfs_fail_memory(err);
    files->files = grown;
    grown[files->count++] = (struct tfs_recover_file){.key = key};
    return 0;
}

/* Those that the save shows. */
static int add_named(const struct tfs_save *save, struct tfs_recover_files *files,
                     struct tfs_span payload, struct tfs_error *err)
{
    struct tfs_record_file *named = NULL;
    size_t count = 0;

    if (tfs_record_files(&payload, &named, &count, err) < 0)
        return err->code;
    for (size_t i = 0; i < count && err->code == 0; i++)
        if (tfs_journal_shows(save, named[i].key))
            add_file(files, named[i].key, err);
    free(named);
    return err->code;
}

static int compare_files(const void *a, const void *b)
{
    const struct tfs_recover_file *left = a, *right = b;

    return tfs_key_compare(left->key, right->key);
}

/* Sorts them, each once. */
static void settle_list(struct tfs_recover_files *files)
{
    size_t kept = 0;

    if (files->count > 0)
        qsort(files->files, files->count, sizeof(*files->files), compare_files);
    for (size_t i = 0; i < files->count; i++)
        if (kept == 0 || compare_files(&files->files[kept - 1], &files->files[i]) != 0)
            files->files[kept++] = files->files[i];
    files->count = kept;
}

/* Records name the same files again and again: the list is settled whenever it has doubled. */
static int list_files(const struct tfs_save *save, const struct tfs_journal_text *text,
                      struct tfs_recover_files *files, struct tfs_error *err)
{
    size_t settled = 0;

    for (size_t i = 0; i < text->count && err->code == 0; i++) {
        if (text->records[i].kind == TFS_JOURNAL_EDIT)
            add_named(save, files, text->records[i].payload, err);
        if (files->count / 2 > settled) {
            settle_list(files);
            settled = files->count;
        }
        if (settled > FILES_MAX)
            tfs_fail(err, -EBADMSG, "the journal names more files than a save has");
    }
    settle_list(files);
    return err->code;
}

/* ---- what they hold -------------------------------------------------------------------------- */

/* One that cannot be read holds nothing that the journal knows. */
static int look_at_files(struct tfs_save *save, struct tfs_recover_files *files,
                         struct tfs_error *err)
{
    for (size_t i = 0; i < files->count; i++) {
        struct tfs_recover_file *file = &files->files[i];
        struct tfs_error why = {0};
        int result = save->container->journal->hash(save, file->key, &file->now, &file->st, &why);
        if (result == -ESTALE || result == -ENOMEM)
            return tfs_fail(err, result, "%s", why.text);
        file->unknown = result < 0;
    }
    return 0;
}

static struct tfs_recover_file *find(const struct tfs_recover_files *files, struct tfs_key key)
{
    const struct tfs_recover_file wanted = {.key = key};

    return files->count == 0
               ? NULL
               : bsearch(&wanted, files->files, files->count, sizeof(wanted), compare_files);
}

const struct tfs_recover_file *tfs_recover_files_find(const struct tfs_recover_files *files,
                                                      struct tfs_key key)
{
    return find(files, key);
}

/* ---- what the records say of them ------------------------------------------------------------ */

static bool holds(const struct tfs_recover_file *file, struct tfs_hash hash)
{
    return !file->unknown && tfs_hash_equal(file->now, hash);
}

static int check_edit(struct tfs_recover_files *files, struct tfs_span payload,
                      struct tfs_error *err)
{
    struct tfs_record_file *named = NULL;
    size_t count = 0;

    if (tfs_record_files(&payload, &named, &count, err) < 0)
        return err->code;
    struct tfs_cursor c = tfs_cursor_init(payload);
    struct timespec made = {.tv_sec = (time_t)tfs_take_u64le(&c)};
    made.tv_nsec = (long)tfs_take_u32le(&c);
    for (size_t i = 0; i < count; i++) {
        struct tfs_recover_file *file = find(files, named[i].key);
        if (file == NULL)
            continue;
        const bool same = holds(file, named[i].hash);
        file->begun = file->begun || (same && !file->named && !file->wrote);
        file->ours = file->ours || same;
        file->named = true;
        file->last = made;
    }
    free(named);
    return 0;
}

/* A file that was written holds all edits before the mark of that rewrite. */
static void check_wrote(struct tfs_recover_files *files, struct tfs_span payload, size_t mark)
{
    struct tfs_record_file wrote;
    bool whole;

    if (tfs_record_wrote_take(payload, &wrote, &whole) < 0)
        return;
    struct tfs_recover_file *file = find(files, wrote.key);
    if (file == NULL || !holds(file, wrote.hash))
        return;
    file->ours = file->wrote = true;
    file->begun = false;
    if (whole)
        file->first = mark;
}

/* A backup that somebody put back holds what the journal began with, and was written after its last
 * edit. A copy of the whole save is newer than that, too, and its journal with it. */
static void yield_to_backups(const struct tfs_journal_text *text, struct tfs_recover_files *files)
{
    if (text->copied)
        return;
    for (size_t i = 0; i < files->count; i++) {
        struct tfs_recover_file *file = &files->files[i];
        if (file->begun && tfs_is_later(file->st.st_mtim, file->last) &&
            tfs_is_later(file->st.st_ctim, file->last))
            file->ours = false;
    }
}

static int check_records(const struct tfs_journal_text *text, struct tfs_recover_files *files,
                         struct tfs_error *err)
{
    size_t mark = 0;

    for (size_t i = 0; i < text->count && err->code == 0; i++) {
        const struct tfs_journal_record *record = &text->records[i];
        if (record->kind == TFS_JOURNAL_MARK)
            mark = i + 1;
        else if (record->kind == TFS_JOURNAL_EDIT)
            check_edit(files, record->payload, err);
        else if (record->kind == TFS_JOURNAL_FILE)
            check_wrote(files, record->payload, mark);
    }
    yield_to_backups(text, files);
    return err->code;
}

int tfs_recover_files_read(struct tfs_save *save, const struct tfs_journal_text *text,
                           struct tfs_recover_files *files, struct tfs_error *err)
{
    struct tfs_recover_files read = {0};

    if (list_files(save, text, &read, err) == 0 && look_at_files(save, &read, err) == 0)
        check_records(text, &read, err);
    if (err->code < 0)
        tfs_recover_files_release(&read);
    else
        *files = read;
    return err->code;
}

void tfs_recover_files_release(struct tfs_recover_files *files)
{
    free(files->files);
    *files = (struct tfs_recover_files){0};
}
