/*
 * A journal and its save on disk -> both as they were at one moment, which edits each file of the
 * save lacks, and the document with these: see edits.h.
 *
 * A journal is not trusted: what it names is counted before room is made for it, and is only ever
 * compared with what the save itself knows of its files.
 */
#include "fs/recovery/edits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "formats/cells/cells.h"
#include "formats/containers/file.h"
#include "formats/containers/folder.h"

#define FILES_MAX ((size_t)1 << 20)
#define TRIES     50 /* while another program is writing */
#define PAUSE_MS  20

static void release_files(struct tfs_recover_files *files)
{
    free(files->files);
    *files = (struct tfs_recover_files){0};
}

void tfs_recovery_release(struct tfs_recovery *r)
{
    tfs_journal_text_release(&r->text);
    release_files(&r->files);
    tfs_doc_unref(r->doc);
    tfs_doc_unref(r->theirs);
}

void tfs_recovery_say(char *notice, const char *format, ...)
{
    const size_t size = strlen(notice);
    const char *between = size > 0 ? "; " : "";
    va_list args;

    va_start(args, format);
    if (size + strlen(between) < TFS_ERROR_TEXT)
        vsnprintf(stpcpy(notice + size, between), TFS_ERROR_TEXT - size - strlen(between), format,
                  args);
    va_end(args);
}

/* ---- the files that it is about -------------------------------------------------------------- */

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
        release_files(&read);
    else
        *files = read;
    return err->code;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What a file says that has the name of a journal, but is none of ours. */
static bool is_foreign(int code)
{
    return code == -EPERM || code == -EBADMSG || code == -ENOTSUP || code == -EINVAL ||
           code == -ELOOP || code == -EFBIG;
}

/* Reads the journal: 1; 0 when there is none that can be used. */
static int read_journal(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_error why = {0};
    int result = tfs_journal_read(r->beside, &r->save->st, &r->text, &why);

    if (result >= 0 || result == -EAGAIN)
        return result;
    if (!is_foreign(result))
        return tfs_fail(err, result, "its journal: %s", why.text);
    r->save->no_journal = true;
    tfs_recovery_say(r->notice, "warning: %s", why.text);
    return 0;
}

/* A journal that is none of several files is checked with its records. */
static void look_again(struct tfs_recovery *r, struct tfs_error *err)
{
    release_files(&r->files);
    if (tfs_recover_files_read(r->save, r->beside, &r->text, &r->files, err) == -EBADMSG)
        tfs_error_reset(err);
}

/* Is the save still what was read, beside this journal or none? 1, 0 or negative. */
static int is_settled(struct tfs_recovery *r, bool journal, struct tfs_error *err)
{
    const struct tfs_container *container = r->save->container;
    struct tfs_error changed = {0};

    if (container->changed(r->save, NULL, &changed) != 0)
        return container->reload(r->save, err) < 0 ? err->code : 0;
    if (!journal)
        return 1;
    look_again(r, &changed);
    if (changed.code < 0 && changed.code != -ESTALE)
        return tfs_fail(err, changed.code, "%s", changed.text);
    return changed.code == 0 && tfs_journal_current(r->beside, &r->text);
}

int tfs_recovery_read(struct tfs_recovery *r, struct tfs_error *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    const size_t said = strlen(r->notice);

    for (int i = 0; i < TRIES; i++) {
        r->notice[said] = '\0';
        const int found = read_journal(r, err);
        /* What is at hand of the edited chunks decides what becomes of them. A file that was read
         * after the journal may be what a later record of that says. */
        const bool lacked = found > 0 && tfs_save_lacks(r->save, r->save->doc, NULL);
        if (lacked && tfs_save_complete(r->save, NULL, err) < 0)
            return err->code;
        int settled = found == -EAGAIN || lacked ? 0
                      : found < 0                ? found
                                                 : is_settled(r, found > 0, err);
        if (settled != 0)
            return settled < 0 ? settled : found;
        tfs_journal_text_release(&r->text);
        if (!lacked)
            nanosleep(&pause, NULL);
    }
    return tfs_fail(err, -EBUSY, "another program goes on changing it");
}

/* ---- which edits ----------------------------------------------------------------------------- */

/* Which entries of one record are taken: those of files that are ours and lack it. */
struct choice {
    const struct tfs_recovery *r;
    struct tfs_edit *edit;
    size_t record;
    bool some, foreign, unnamed;
};

static bool takes(struct choice *c, const struct tfs_record_entry *entry)
{
    const struct tfs_save *save = c->r->save;
    const struct tfs_key key =
        entry->common ? (struct tfs_key){0} : tfs_journal_file_of(save, entry->chunk.key);
    const struct tfs_recover_file *file = tfs_recover_files_find(&c->r->files, key);

    c->unnamed = c->unnamed || (file == NULL && tfs_journal_shows(save, key));
    c->foreign = c->foreign || (file != NULL && !file->ours);
    return file != NULL && file->ours && c->record >= file->first;
}

/* Does the document say that already? Then the chunk keeps its number. */
static bool is_said(const struct tfs_doc *doc, const struct tfs_record_entry *entry)
{
    return !entry->common && !entry->removed &&
           tfs_chunk_same(tfs_doc_find(doc, entry->chunk.key), &entry->chunk);
}

static int put_taken(void *arg, const struct tfs_record_entry *entry, struct tfs_error *err)
{
    struct choice *c = arg;

    if (entry->common && entry->stays)
        return 0;
    if (entry->common && tfs_container_has_files(c->r->save->container))
        return tfs_fail(err, -EBADMSG, "the journal does not fit the save");
    if (!takes(c, entry) || is_said(tfs_edit_doc(c->edit), entry))
        return 0;
    c->some = true;
    return tfs_record_put(c->edit, entry, err);
}

static int apply_record(struct tfs_recovery *r, struct choice *c, struct tfs_error *err)
{
    struct timespec when = {0};

    c->some = c->foreign = false;
    if (tfs_record_read(&r->text, c->record, put_taken, c, &when, err) == 0 && c->unnamed)
        tfs_fail(err, -EBADMSG, "a record of the journal does not name the file of a chunk");
    if (err->code < 0)
        return err->code;
    if (c->some || c->foreign)
        r->last = when;
    r->count += c->some;
    r->foreign += c->foreign;
    return 0;
}

/* ---- what is made of it ---------------------------------------------------------------------- */

/* A save whose chunks are fixed has no others, chunks in files of a folder have no second value;
 * and what is damaged cannot be written. */
static bool is_possible(const struct tfs_save *save, const struct tfs_chunk *before,
                        const struct tfs_chunk *after)
{
    return !(tfs_chunks_are_fixed(save) && (before == NULL || after == NULL)) &&
           (after == NULL || (after->flags == 0 &&
                              (!tfs_container_has_files(save->container) || after->extra == NULL)));
}

bool tfs_recovery_fits(const struct tfs_save *save, const struct tfs_doc *made,
                       const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct tfs_chunk *either = after != NULL ? after : before;
    struct tfs_error why = {0};

    return either == NULL || (is_possible(save, before, after) &&
                              tfs_chunk_fits(save->tree, made, save->doc, either, &why) == 0);
}

int tfs_recovery_check(struct tfs_save *save, struct tfs_doc *made, const struct tfs_chunk *before,
                       const struct tfs_chunk *after, struct tfs_error *err)
{
    if (!tfs_recovery_fits(save, made, before, after))
        return tfs_fail(err, -EBADMSG, "a chunk of the journal does not fit the save");
    return after == NULL ? 0 : tfs_cells_check(save, made, after->key, NULL, err);
}

struct checking {
    struct tfs_save *save;
    struct tfs_doc *made;
    struct tfs_error *err;
};

static int check_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct checking *c = arg;

    return tfs_recovery_check(c->save, c->made, before, after, c->err);
}

/* What is common to a save is changed by edits, and never comes or goes; of several files it never
 * changes. */
int tfs_recovery_check_common(const struct tfs_save *save, const struct tfs_doc *made,
                              struct tfs_error *err)
{
    const struct tfs_blob *before = save->doc->common, *after = made->common;
    struct tfs_error why = {0};

    if (after != before &&
        (before == NULL || after == NULL || tfs_container_has_files(save->container) ||
         tfs_chunk_fits(save->tree, made, save->doc, NULL, &why) < 0))
        return tfs_fail(err, -EBADMSG, "the journal does not fit the save");
    return 0;
}

static int check(struct tfs_save *save, struct tfs_doc *made, struct tfs_error *err)
{
    struct checking c = {save, made, err};

    if (tfs_recovery_check_common(save, made, err) == 0)
        tfs_doc_diff(save->doc, made, check_chunk, &c);
    return err->code;
}

int tfs_recovery_apply(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_edit edit;
    struct choice c = {.r = r, .edit = &edit};

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    for (; c.record < r->text.count && err->code == 0; c.record++) {
        tfs_save_step(r->save, "records of the journal", c.record, r->text.count);
        apply_record(r, &c, err);
    }
    if (err->code == 0)
        r->doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code < 0 ? err->code : check(r->save, r->doc, err);
}

bool tfs_recovery_says_more(const struct tfs_recovery *r)
{
    return r->doc != NULL && r->doc->version != r->save->doc->version;
}

/* What is shown is what the save reads as with the edits in it. A rewrite reads back what it wrote,
 * and needs this only to tell why it failed. */
int tfs_recovery_read_again(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_doc *again = NULL;

    if (!tfs_recovery_says_more(r) || tfs_container_has_files(r->save->container))
        return 0;
    tfs_whole_file_again(r->save, r->doc, &again, err);
    tfs_doc_unref(r->doc);
    r->doc = again;
    return err->code;
}
