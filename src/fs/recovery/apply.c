/*
 * Records of a journal -> a document, checked. See apply.h.
 */
#include "fs/recovery/apply.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "formats/cells/cells.h"
#include "formats/containers/file.h"

/* ---- a save that is one file ----------------------------------------------------------------- */

static int apply_records(struct tfs_recovery *r, struct tfs_edit *edit, struct tfs_error *err)
{
    for (size_t i = r->first; i < r->text.count; i++) {
        const struct tfs_journal_record *record = &r->text.records[i];
        tfs_save_step(r->save, "records of the journal", i - r->first, r->text.count - r->first);
        if (record->kind != TFS_JOURNAL_EDIT)
            continue;
        if (tfs_record_apply(edit, r->text.bytes, record->payload, &r->last, err) < 0)
            return err->code;
        r->count++;
    }
    return 0;
}

struct checking {
    const struct tfs_recovery *r;
    struct tfs_error *err;
};

/* A save whose chunks are fixed has no others, chunks in files of a folder have no second value;
 * and what is damaged cannot be written. */
static bool is_possible(const struct tfs_save *save, const struct tfs_chunk *before,
                        const struct tfs_chunk *after)
{
    return !(tfs_chunks_are_fixed(save) && (before == NULL || after == NULL)) &&
           (after == NULL || (after->flags == 0 &&
                              (!tfs_container_has_files(save->container) || after->extra == NULL)));
}

/* A journal is not trusted with more than a user's text: what it makes must fit the save and
 * decode. */
static int check_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct checking *c = arg;
    struct tfs_save *save = c->r->save;
    struct tfs_error why = {0};

    if (!is_possible(save, before, after) ||
        tfs_chunk_fits(save->tree, c->r->doc, save->doc, after != NULL ? after : before, &why) < 0)
        return tfs_fail(c->err, -EBADMSG, "a chunk of the journal does not fit the save");
    if (after == NULL)
        return 0;
    return tfs_cells_check(save, c->r->doc, after->key, NULL, c->err);
}

/* What is common to a save is changed by edits, and never comes or goes. */
static int check_common(const struct tfs_recovery *r, struct tfs_error *err)
{
    const struct tfs_save *save = r->save;
    const struct tfs_blob *before = save->doc->common, *after = r->doc->common;
    struct tfs_error why = {0};

    if (after != before && (before == NULL || after == NULL ||
                            tfs_chunk_fits(save->tree, r->doc, save->doc, NULL, &why) < 0))
        return tfs_fail(err, -EBADMSG, "the journal does not fit the save");
    return 0;
}

/* EBADMSG: edits cannot bring the save to r->doc, or a chunk of that does not decode. */
static int check(struct tfs_recovery *r, struct tfs_error *err)
{
    struct checking c = {r, err};

    if (check_common(r, err) == 0)
        tfs_doc_diff(r->save->doc, r->doc, check_chunk, &c);
    return err->code;
}

/* What is shown, and made into files, is what the save reads as with the edits in it. A rewrite
 * reads back what it wrote, and needs this only to tell why it failed. */
int tfs_recovery_read_again(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_doc *again = NULL;

    if (r->doc == NULL || r->doc->version == r->save->doc->version)
        return 0;
    tfs_whole_file_again(r->save, r->doc, &again, err);
    tfs_doc_unref(r->doc);
    r->doc = again;
    return err->code;
}

int tfs_recovery_apply(struct tfs_recovery *r, struct tfs_error *err)
{
    struct tfs_edit edit;

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    if (apply_records(r, &edit, err) == 0)
        r->doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    if (err->code == 0 && check(r, err) < 0) {
        tfs_doc_unref(r->doc);
        r->doc = NULL;
    }
    return err->code;
}

/* ---- a save of several files ----------------------------------------------------------------- */

/* Which chunks of one record are taken: those in files that are ours and lack it, or those in files
 * of others. */
struct choice {
    const struct tfs_recovery *r;
    size_t record;
    bool theirs;
    bool some, unnamed;
};

static bool takes(void *arg, struct tfs_key chunk)
{
    struct choice *c = arg;
    const struct tfs_save *save = c->r->save;
    const struct tfs_key key = save->container->journal->file_of(save, chunk);
    const struct tfs_recover_file *file = tfs_recover_files_find(&c->r->files, key);

    c->unnamed = c->unnamed || (file == NULL && tfs_journal_shows(save, key));
    const bool taken =
        file != NULL && (c->theirs ? !file->ours : file->ours && c->record >= file->first);
    c->some = c->some || taken;
    return taken;
}

/* One record of several files: what it names was read before. */
static int apply_named(struct tfs_recovery *r, struct tfs_edit *edit, struct choice *c,
                       struct tfs_error *err)
{
    const struct tfs_record_filter filter = {takes, c};
    struct tfs_span payload = r->text.records[c->record].payload;
    struct tfs_record_file *named = NULL;
    size_t count;

    if (tfs_record_files(&payload, &named, &count, err) < 0)
        return err->code;
    free(named);
    c->some = false;
    if (tfs_record_apply_some(edit, r->text.bytes, payload, &filter, &r->last, err) == 0 &&
        c->unnamed)
        tfs_fail(err, -EBADMSG, "a record of the journal does not name the file of a chunk");
    return err->code;
}

/* Does the save hold this chunk already? One that cannot be read is another one. */
static bool holds(const struct tfs_recovery *r, const struct tfs_chunk *before,
                  const struct tfs_chunk *after, struct tfs_error *err)
{
    struct tfs_blob *blob = NULL;
    struct tfs_error why = {0};
    bool same = false;

    if (before == NULL || after == NULL || before->tag != after->tag ||
        (before->flags & ~(uint32_t)TFS_CHUNK_UNREAD_ALL) != after->flags || after->extra != NULL)
        return false;
    if (tfs_chunk_load(r->save, before, &blob, &why) == 0)
        same = tfs_blob_equal(blob, after->blob);
    else if (why.code == -ENOMEM)
        tfs_fail_memory(err);
    tfs_blob_unref(blob);
    return same;
}

/* A chunk of which two documents say different things; NULL: one of them has none. */
struct change {
    struct tfs_key file;
    const struct tfs_chunk *before, *after;
};

struct changes {
    const struct tfs_save *save;
    struct change *items;
    size_t count;
    struct tfs_error *err;
};

static const struct tfs_chunk *either(const struct change *change)
{
    return change->after != NULL ? change->after : change->before;
}

static int add_change(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct changes *c = arg;
    struct change *items = tfs_array_grow(c->items, c->count, sizeof(*items));
    struct change added = {{0}, before, after};

    if (items == NULL)
        return tfs_fail_memory(c->err);
    added.file = c->save->container->journal->file_of(c->save, either(&added)->key);
    c->items = items;
    c->items[c->count++] = added;
    return 0;
}

static int compare_changes(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    const int order = tfs_key_compare(left->file, right->file);

    return order != 0 ? order : tfs_key_compare(either(left)->key, either(right)->key);
}

static int sift_chunk(const struct tfs_recovery *r, const struct change *change,
                      struct tfs_edit *edit, struct tfs_error *err)
{
    if (holds(r, change->before, change->after, err) || err->code < 0)
        return err->code;
    return change->after == NULL ? tfs_edit_remove(edit, change->before->key, err)
                                 : tfs_edit_put(edit, change->after, err);
}

/* The save's document, with what `made` says otherwise: bytes that are the same are the save's.
 * File by file, because a file may have to be read whole for each chunk of it that is compared. */
static int sift(const struct tfs_recovery *r, struct tfs_doc *made, struct tfs_doc **doc,
                struct tfs_error *err)
{
    struct changes changes = {.save = r->save, .err = err};
    struct tfs_edit edit;

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    tfs_doc_diff(r->save->doc, made, add_change, &changes);
    if (changes.count > 0)
        qsort(changes.items, changes.count, sizeof(*changes.items), compare_changes);
    for (size_t i = 0; i < changes.count && err->code == 0; i++)
        sift_chunk(r, &changes.items[i], &edit, err);
    if (err->code == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    free(changes.items);
    return err->code;
}

/* The same checks as of a save that is one file; here a commit reads back each that it writes. */
static int check_files(struct tfs_recovery *r, struct tfs_doc *doc, struct tfs_error *err)
{
    struct tfs_doc *before = r->doc;
    struct checking c = {r, err};

    r->doc = doc;
    if (doc->common != r->save->doc->common)
        tfs_fail(err, -EBADMSG, "the journal does not fit the save");
    else
        tfs_doc_diff(r->save->doc, doc, check_chunk, &c);
    r->doc = before;
    return err->code;
}

int tfs_recovery_apply_files(struct tfs_recovery *r, bool theirs, struct tfs_doc **doc,
                             size_t *count, struct tfs_error *err)
{
    struct choice c = {.r = r, .theirs = theirs};
    struct tfs_doc *made = NULL, *sifted = NULL;
    struct tfs_edit edit;

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    for (; c.record < r->text.count && err->code == 0; c.record++)
        if (r->text.records[c.record].kind == TFS_JOURNAL_EDIT &&
            apply_named(r, &edit, &c, err) == 0)
            *count += c.some;
    if (err->code == 0)
        made = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    if (made != NULL && sift(r, made, &sifted, err) == 0 && check_files(r, sifted, err) == 0) {
        *doc = sifted;
        sifted = NULL;
    }
    tfs_doc_unref(made);
    tfs_doc_unref(sifted);
    return err->code;
}

bool tfs_recovery_says_more(const struct tfs_recovery *r, const struct tfs_doc *doc)
{
    return doc != NULL && doc->version != r->save->doc->version;
}
