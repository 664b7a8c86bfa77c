/*
 * The files of a save that a journal is about: see files.h.
 *
 * A journal is not trusted: what it names is counted before room is made for it, and is only ever
 * compared with what the save itself knows of its files.
 */
#include "fs/recovery/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/containers/folder.h"

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

/* Is the journal beside that path of one of several files, as version 0.1 left them? Its records
 * name no files. Such a file had no group: of those of others nothing is taken. Sets *file. */
static bool is_alone(const struct tfs_save *save, const char *beside, struct tfs_key *file)
{
    const struct tfs_folder_kind *kind = save->container->files;

    *file = (struct tfs_key){0};
    return kind != NULL && kind->key(beside + strlen(save->path) + 1, file) && file->group == 0;
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

static void settle_list(struct tfs_recover_files *files)
{
    files->count =
        tfs_array_unique(files->files, files->count, sizeof(*files->files), compare_files);
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
        struct stat st;
        int result = save->container->journal->hash(save, file->key, &file->now, &st, &why);
        if (result == -ESTALE || result == -ENOMEM)
            return tfs_fail(err, result, "%s", why.text);
        file->unknown = result < 0;
    }
    return 0;
}

struct tfs_recover_file *tfs_recover_files_find(const struct tfs_recover_files *files,
                                                struct tfs_key key)
{
    const struct tfs_recover_file wanted = {.key = key};

    return files->count == 0
               ? NULL
               : bsearch(&wanted, files->files, files->count, sizeof(wanted), compare_files);
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
    for (size_t i = 0; i < count; i++) {
        struct tfs_recover_file *file = tfs_recover_files_find(files, named[i].key);
        if (file != NULL)
            file->ours = file->ours || holds(file, named[i].hash);
    }
    free(named);
    return 0;
}

/* A file that was written holds all edits before the mark of that rewrite. */
static void check_wrote(struct tfs_recover_file *file, struct tfs_hash wrote, bool whole,
                        size_t mark)
{
    if (file == NULL || !holds(file, wrote))
        return;
    file->ours = file->wrote = true;
    if (whole)
        file->first = mark;
}

static void check_file(struct tfs_recover_files *files, struct tfs_span payload, size_t mark)
{
    struct tfs_record_file wrote;
    bool whole;

    if (tfs_record_wrote_take(payload, &wrote, &whole) == 0)
        check_wrote(tfs_recover_files_find(files, wrote.key), wrote.hash, whole, mark);
}

/* Of one file the journal itself says what it began with. */
static int check_records(const struct tfs_journal_text *text, bool named,
                         struct tfs_recover_files *files, struct tfs_error *err)
{
    size_t mark = 0;

    if (!named)
        files->files->ours = holds(files->files, text->save);
    for (size_t i = 0; i < text->count && err->code == 0; i++) {
        const struct tfs_journal_record *record = &text->records[i];
        if (record->kind == TFS_JOURNAL_MARK)
            mark = i + 1;
        else if (record->kind == TFS_JOURNAL_DONE && !named)
            check_wrote(files->files, record->hash, true, mark);
        else if (record->kind == TFS_JOURNAL_EDIT && named)
            check_edit(files, record->payload, err);
        else if (record->kind == TFS_JOURNAL_FILE)
            check_file(files, record->payload, mark);
    }
    return err->code;
}

int tfs_recover_files_read(struct tfs_save *save, const char *beside,
                           const struct tfs_journal_text *text, struct tfs_recover_files *files,
                           struct tfs_error *err)
{
    struct tfs_recover_files read = {0};
    struct tfs_key file = {0};
    const bool named = tfs_container_has_files(save->container) && !is_alone(save, beside, &file);

    if ((named ? list_files(save, text, &read, err) : add_file(&read, file, err)) == 0 &&
        look_at_files(save, &read, err) == 0)
        check_records(text, named, &read, err);
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
