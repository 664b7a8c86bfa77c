/*
 * Records of a journal -> a document, checked. See apply.h.
 */
#include "fs/recovery/apply.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/cells/cells.h"
#include "formats/containers/file.h"

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
