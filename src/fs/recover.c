/*
 * A journal is read, believed or not, and brought into the save: see recover.h.
 */
#include "fs/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/journal.h"
#include "formats/undo/undo.h"
#include "formats/unsaved.h"
#include "formats/whole_file.h"
#include "fs/quarantine.h"
#include "fs/recover_files.h"
#include "fs/store.h"

#define TRIES    50
#define PAUSE_MS 20

struct recovery {
    struct tfs_save *save;
    const struct tfs_save *alone; /* this one of its files is all that is wanted; NULL: all are */
    char *beside;                 /* where the journal lies */
    struct tfs_journal_text text;
    struct tfs_hash hash;           /* of what the save holds, if it is one file */
    struct tfs_recover_files files; /* else */
    size_t first;                   /* record that the save lacks */
    size_t count;                   /* edits from there on */
    struct timespec last;           /* when the last one was made */
    struct tfs_doc *doc;            /* the save with them; NULL: they do not fit it */
    /* The same of edits of files that another program changed; NULL: there are none, or they do
     * not fit. */
    struct tfs_doc *theirs;
    size_t theirs_count;
    bool misfit;
    char edits[80]; /* of edits_of */
    char *notice;
};

static bool is_locked(const struct tfs_save *save)
{
    return save->options.lock == TFS_LOCK_EXCLUSIVE;
}

/* Else nothing is written, neither the save nor what is beside it. */
static bool may_write(const struct tfs_save *save)
{
    return is_locked(save) && save->read_only == NULL;
}

static void say(struct recovery *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct recovery *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->notice, TFS_ERROR_TEXT, format, args);
    va_end(args);
}

/* "3 edits until 2026-11-22 10:20:00 were": with the verb for one edit or for several. */
static const char *edits_of(struct recovery *r, const char *was, const char *were)
{
    const bool one = r->count == 1;
    struct tm tm;
    char date[32];

    localtime_r(&r->last.tv_sec, &tm);
    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(r->edits, sizeof(r->edits), "%zu %s until %s %s", r->count, one ? "edit" : "edits",
             date, one ? was : were);
    return r->edits;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What a file says that has the name of a journal, but is none of ours. */
static bool is_foreign(int code)
{
    return code == -EPERM || code == -EBADMSG || code == -ENOTSUP || code == -EINVAL ||
           code == -ELOOP || code == -EFBIG;
}

/* Reads the journal: 1; 0 when there is none that can be used. */
static int read_journal(struct recovery *r, struct tfs_error *err)
{
    struct tfs_error why = {0};
    int result = tfs_journal_read(r->beside, &r->save->st, TFS_JOURNAL_MAX, &r->text, &why);

    if (result >= 0 || result == -EAGAIN)
        return result;
    if (!is_foreign(result))
        return tfs_fail(err, result, "its journal: %s", why.text);
    r->save->no_journal = true;
    say(r, "warning: %s", why.text);
    return 0;
}

/* A journal that is none of several files is checked with its records. */
static void look_at_files(struct recovery *r, struct tfs_error *err)
{
    tfs_recover_files_release(&r->files);
    if (tfs_recover_files_read(r->save, &r->text, &r->files, err) == -EBADMSG)
        tfs_error_reset(err);
}

/* Is the save still what was read, beside this journal or none? 1, 0 or negative. */
static int is_settled(struct recovery *r, bool journal, struct tfs_error *err)
{
    const struct tfs_container *container = r->save->container;
    struct tfs_error changed = {0};

    if (container->changed(r->save, &changed) != 0)
        return container->reload(r->save, err) < 0 ? err->code : 0;
    if (!journal)
        return 1;
    if (container->hash != NULL)
        container->hash(r->save, &r->hash, &changed);
    else
        look_at_files(r, &changed);
    if (changed.code < 0 && changed.code != -ESTALE)
        return tfs_fail(err, changed.code, "%s", changed.text);
    return changed.code == 0 && tfs_journal_current(r->beside, &r->text);
}

/* What is at hand of the edited chunks decides what becomes of them. */
static int complete(struct recovery *r, struct tfs_error *err)
{
    const struct tfs_doc *alone = r->alone != NULL ? r->alone->doc : NULL;

    if (alone != NULL && alone->count == 0)
        return 0;
    return tfs_save_complete(r->save, alone != NULL ? &tfs_doc_at(alone, 0)->key : NULL, err);
}

/* Reads journal and save until both are of one moment: the program that has the lock may be
 * changing them. 1; 0 when there is no journal. */
static int read_both(struct recovery *r, struct tfs_error *err)
{
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

    for (int i = 0; i < TRIES; i++) {
        int found = read_journal(r, err);
        if (found > 0 && complete(r, err) < 0)
            return err->code;
        int settled = found == -EAGAIN ? 0 : found < 0 ? found : is_settled(r, found > 0, err);
        if (settled != 0)
            return settled < 0 ? settled : found;
        tfs_journal_text_release(&r->text);
        nanosleep(&pause, NULL);
    }
    return tfs_fail(err, -EBUSY, "another program goes on changing it");
}

/* ---- applying -------------------------------------------------------------------------------- */

static int apply_records(struct recovery *r, struct tfs_edit *edit, struct tfs_error *err)
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
    const struct recovery *r;
    struct tfs_error *err;
};

/* A save whose chunks are fixed has no others, chunks in files of a folder have no second value;
 * and what is damaged cannot be written. */
static bool is_possible(const struct tfs_save *save, const struct tfs_chunk *before,
                        const struct tfs_chunk *after)
{
    return !(save->tree->fixed_chunks && (before == NULL || after == NULL)) &&
           (after == NULL ||
            (after->flags == 0 && (save->container->journal == NULL || after->extra == NULL)));
}

/* A journal is not trusted with more than a user's text: what it makes must fit the save and
 * decode. */
static int check_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct checking *c = arg;
    struct tfs_save *save = c->r->save;
    const struct tfs_tree *tree = save->tree;

    if (!is_possible(save, before, after) ||
        (tree->fits != NULL && !tree->fits(c->r->doc, save->doc, after != NULL ? after : before)))
        return tfs_fail(c->err, -EBADMSG, "a chunk of the journal does not fit the save");
    if (after == NULL || tree->chunk_check == NULL)
        return 0;
    return tree->chunk_check(save, c->r->doc, after->key, NULL, c->err);
}

/* What is common to a save is changed by edits, and never comes or goes. */
static int check_common(const struct recovery *r, struct tfs_error *err)
{
    const struct tfs_save *save = r->save;
    const struct tfs_blob *before = save->doc->common, *after = r->doc->common;

    if (after != before &&
        (before == NULL || after == NULL ||
         (save->tree->fits != NULL && !save->tree->fits(r->doc, save->doc, NULL))))
        return tfs_fail(err, -EBADMSG, "the journal does not fit the save");
    return 0;
}

static int check_doc(struct recovery *r, struct tfs_error *err)
{
    struct checking c = {r, err};

    if (check_common(r, err) == 0)
        tfs_doc_diff(r->save->doc, r->doc, check_chunk, &c);
    return err->code;
}

static void drop_doc(struct recovery *r)
{
    tfs_doc_unref(r->doc);
    r->doc = NULL;
}

/* What is shown, and made into files, is what the save reads as with the edits in it. A rewrite
 * reads back what it wrote, and needs this only to tell why it failed. */
static int read_again(struct recovery *r, struct tfs_error *err)
{
    struct tfs_doc *again = NULL;

    if (r->doc == NULL || r->doc->version == r->save->doc->version)
        return 0;
    tfs_whole_file_again(r->save, r->doc, &again, err);
    drop_doc(r);
    r->doc = again;
    return err->code;
}

/* Sets r->doc; a failure other than of memory says why the records do not fit. */
static int apply(struct recovery *r, struct tfs_error *err)
{
    struct tfs_edit edit;

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    if (apply_records(r, &edit, err) == 0)
        r->doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    if (err->code == 0 && check_doc(r, err) < 0)
        drop_doc(r);
    return err->code;
}

/* ---- setting aside --------------------------------------------------------------------------- */

static int put_file(void *arg, const char *path, struct tfs_span bytes)
{
    return tfs_unsaved_add(arg, path, bytes);
}

/* As files to be imported, where the records fit what the save holds now; and as they are, where
 * not all of them can be read that way. */
static size_t fill(void *arg, struct tfs_unsaved *unsaved)
{
    const struct recovery *r = arg;
    size_t lost = 0;

    if (r->doc != NULL)
        lost = tfs_changes_files(r->save, r->save->doc, r->doc, "", put_file, unsaved);
    if (r->doc == NULL || r->text.damaged > 0)
        lost += tfs_unsaved_add(unsaved, "journal", tfs_blob_span(r->text.bytes)) < 0;
    return lost;
}

static int store_aside(struct recovery *r, char **directory)
{
    const struct tfs_save *save = r->save;
    const struct tfs_unsaved_for whose = tfs_unsaved_whose(save);

    return tfs_unsaved_store(&whose, fill, r, directory);
}

/* The edits are not the save's: they go to a directory of their own, and the journal goes. */
static int set_aside(struct recovery *r, const char *why, struct tfs_error *err)
{
    char *directory = NULL;

    if (!may_write(r->save)) {
        say(r, "warning: the journal beside it is not used: %s", why);
        return 0;
    }
    if (store_aside(r, &directory) < 0) {
        r->save->no_journal = true;
        say(r, "warning: the journal beside it is not used, and could not be set aside: %s", why);
    } else if (tfs_journal_drop(r->save, r->beside, err) == 0) {
        say(r, "warning: %s not restored, for %s; what was edited is in %s",
            edits_of(r, "was", "were"), why, directory);
    }
    free(directory);
    return err->code;
}

/* ---- bringing up to date --------------------------------------------------------------------- */

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Why the edits must not be brought into what the save holds; NULL: they belong to it. */
static const char *stranger(struct recovery *r)
{
    if (!tfs_journal_first(&r->text, r->hash, &r->first))
        return "another program changed the save since";
    return NULL;
}

/* A backup that somebody put back holds what the journal began with, and was written after its last
 * edit. A time of modification alone may lie in the future: archives of another time zone have such
 * ones. A journal that was copied came with the save. */
static bool was_put_back(const struct recovery *r)
{
    return !r->text.copied && tfs_hash_equal(r->hash, r->text.save) &&
           is_newer(r->save->st.st_mtim, r->last) && is_newer(r->save->st.st_ctim, r->last);
}

/* The save holds the edits already: the program that wrote them into the save could not remove the
 * journal, or was killed before. */
static bool holds_all(const struct recovery *r)
{
    return r->doc != NULL && tfs_doc_same(r->save->doc, r->doc);
}

static int show_in_memory(struct recovery *r)
{
    if (r->count > 0) {
        tfs_doc_unref(r->save->doc);
        r->save->doc = r->doc;
        r->doc = NULL;
    }
    if (r->text.damaged > 0)
        say(r, "warning: its journal is damaged at offset %ju, what follows is not shown",
            (uintmax_t)r->text.damaged);
    else if (r->count > 0)
        say(r, "%s only in its journal yet", edits_of(r, "is", "are"));
    return 0;
}

/* Nothing is lost: what is not written yet can be read. */
static int fail_restore(struct recovery *r, const struct tfs_error *why, struct tfs_error *err)
{
    const bool full = why->code == -ENOSPC || why->code == -EDQUOT;

    return tfs_fail(err, why->code, "%s not be restored from its journal: %.200s%s",
                    edits_of(r, "could", "could"), why->text,
                    full ? "; make room, until then -o ro and commands that read show them" : "");
}

/* The save could not be written: because of the edits, which are set aside then, or of the disk. */
static int fail_write(struct recovery *r, const struct tfs_error *why, struct tfs_error *err)
{
    struct tfs_error misfit = {0};

    if (read_again(r, &misfit) == -EBADMSG)
        return set_aside(r, misfit.text, err);
    return fail_restore(r, why, err);
}

static int commit(struct recovery *r, struct tfs_error *err)
{
    r->save->checked = r->doc;
    const int result = r->save->container->commit(r->save, r->doc, err);
    r->save->checked = NULL;
    return result;
}

/* All that can be read of the journal is in the save. A damaged one was set aside, or stays. */
static void say_restored(struct recovery *r, const char *directory)
{
    const char *edits = edits_of(r, "was", "were");

    if (r->text.damaged == 0)
        say(r, "%s restored from its journal", edits);
    else
        say(r,
            "warning: its journal is damaged at offset %ju: %s restored, what follows is lost; "
            "the journal is in %s",
            (uintmax_t)r->text.damaged, edits, directory != NULL ? directory : "its place");
}

static int write_into_save(struct recovery *r, struct tfs_error *err)
{
    char *directory = NULL;
    struct tfs_error why = {0};

    if (r->count > 0 && commit(r, &why) < 0)
        return fail_write(r, &why, err);
    drop_doc(r); /* what is set aside of a damaged journal is the journal alone */
    if (r->text.damaged > 0 && store_aside(r, &directory) < 0)
        r->save->no_journal = true;
    else
        tfs_journal_drop(r->save, r->beside, err);
    say_restored(r, directory);
    free(directory);
    return err->code;
}

static int bring_up_to_date(struct recovery *r, struct tfs_error *err)
{
    struct tfs_error misfit = {0}, unread = {0};
    const char *why = stranger(r);

    if (apply(r, &misfit) == -ENOMEM)
        return tfs_fail_memory(err);
    if (why == NULL && misfit.code != 0)
        why = misfit.text;
    if (why == NULL && r->count > 0 && was_put_back(r))
        why = "the save was put back since";
    if ((why != NULL || !may_write(r->save)) && read_again(r, &unread) == -ENOMEM)
        return tfs_fail_memory(err);
    if (why == NULL && unread.code != 0)
        why = unread.text;
    if (holds_all(r)) {
        why = NULL;
        r->count = 0;
    }
    if (why != NULL)
        return set_aside(r, why, err);
    if (!may_write(r->save))
        return show_in_memory(r);
    if (r->count > 0 || r->text.damaged > 0)
        return write_into_save(r, err);
    return tfs_journal_drop(r->save, r->beside, err);
}

/* ---- saves of several files ------------------------------------------------------------------ */

/* Which chunks of one record are taken: those in files that are ours and lack it, or those in files
 * of others. */
struct choice {
    const struct recovery *r;
    const struct tfs_recover_file *only; /* NULL: all files */
    size_t record;
    bool theirs;
    bool some, unnamed;
};

static bool takes(void *arg, struct tfs_key chunk)
{
    struct choice *c = arg;
    const struct tfs_save *save = c->r->save;
    const struct tfs_recover_file *file =
        tfs_recover_files_find(&c->r->files, save->container->journal->file_of(save, chunk));

    c->unnamed = c->unnamed || file == NULL;
    const bool taken = file != NULL && (c->only == NULL || c->only == file) &&
                       (c->theirs ? !file->ours : file->ours && c->record >= file->first);
    c->some = c->some || taken;
    return taken;
}

/* One record of several files: what it names was read before. */
static int apply_named(struct recovery *r, struct tfs_edit *edit, struct choice *c,
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

struct sifting {
    const struct recovery *r;
    struct tfs_edit *edit;
    struct tfs_error *err;
};

/* Does the save hold this chunk already? One that cannot be read is another one. */
static bool holds(const struct recovery *r, const struct tfs_chunk *before,
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

static int sift_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct sifting *s = arg;

    if (holds(s->r, before, after, s->err) || s->err->code < 0)
        return s->err->code;
    return after == NULL ? tfs_edit_remove(s->edit, before->key, s->err)
                         : tfs_edit_put(s->edit, after, s->err);
}

/* The save's document, with what `made` says otherwise: bytes that are the same are the save's. */
static int sift(const struct recovery *r, struct tfs_doc *made, struct tfs_doc **doc,
                struct tfs_error *err)
{
    struct tfs_edit edit;
    const struct sifting s = {r, &edit, err};

    if (tfs_edit_open(r->save->doc, &edit, err) < 0)
        return err->code;
    if (tfs_doc_diff(r->save->doc, made, sift_chunk, (void *)&s) == 0)
        *doc = tfs_edit_finish(&edit);
    tfs_edit_release(&edit);
    return err->code;
}

/* The same checks as of a save that is one file; here a commit reads back each that it writes. */
static int check_files(struct recovery *r, struct tfs_doc *doc, struct tfs_error *err)
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

/* *doc: the save with the edits of our files (`only`: of this one), or of theirs; *count: of how
 * many records. */
static int apply_files(struct recovery *r, bool theirs, const struct tfs_recover_file *only,
                       struct tfs_doc **doc, size_t *count, struct tfs_error *err)
{
    struct choice c = {.r = r, .only = only, .theirs = theirs};
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

static bool says_more(const struct recovery *r, const struct tfs_doc *doc)
{
    return doc != NULL && doc->version != r->save->doc->version;
}

static const char others_wrote[] = "another program changed files of the save since";

/* The edits of files that are not ours any more, and a journal that is damaged, go to a directory
 * of their own, before anything takes the journal's place. */
static int set_theirs_aside(struct recovery *r, char **directory)
{
    struct tfs_doc *ours = r->doc;

    r->doc = r->theirs;
    int result = store_aside(r, directory);
    r->doc = ours;
    return result;
}

/* Where a commit was cut, what follows belongs to the generation that it had begun. */
static int resume_undo(struct recovery *r, struct tfs_error *err)
{
    struct tfs_undo_wrote *wrote = calloc(r->files.count + 1, sizeof(*wrote));
    size_t count = 0;

    if (wrote == NULL)
        return tfs_fail_memory(err);
    for (size_t i = 0; i < r->files.count && err->code == 0; i++) {
        const struct tfs_recover_file *file = &r->files.files[i];
        if (!file->wrote)
            continue;
        wrote[count] = (struct tfs_undo_wrote){
            r->save->container->journal->path(r->save, file->key), file->st};
        if (wrote[count++].path == NULL)
            tfs_fail_memory(err);
    }
    if (err->code == 0)
        tfs_undo_resume(r->save->keeper, wrote, count);
    for (size_t i = 0; i < count; i++)
        free(wrote[i].path);
    free(wrote);
    return err->code;
}

/* Do the edits themselves keep the save from being written? */
static bool is_misfit(int code)
{
    return code == -EBADMSG || code == -EINVAL || code == -ENOTSUP;
}

/* 1: they could not be written, and were set aside. */
static int write_files(struct recovery *r, struct tfs_error *err)
{
    struct tfs_error why = {0};

    if (resume_undo(r, err) < 0)
        return err->code;
    if (says_more(r, r->doc))
        tfs_journal_restore(r->save, r->beside, &r->text, r->doc, &why);
    tfs_undo_leave(r->save->keeper);
    if (is_misfit(why.code))
        return set_aside(r, why.text, err) < 0 ? err->code : 1;
    if (why.code < 0)
        return fail_restore(r, &why, err);
    return tfs_journal_drop(r->save, r->beside, err);
}

static int restore_files(struct recovery *r, struct tfs_error *err)
{
    const bool theirs = says_more(r, r->theirs) || r->misfit, ours = says_more(r, r->doc);
    char *directory = NULL;
    int written = 1;

    if ((theirs || r->text.damaged > 0) && set_theirs_aside(r, &directory) < 0) {
        r->save->no_journal = true;
        say(r, "warning: its journal is not used, and could not be set aside");
    } else {
        written = write_files(r, err);
    }
    if (written == 0 && theirs && r->text.damaged == 0)
        say(r, "warning: %s%sparts of %zu edit%s were not restored, for %s; they are in %s",
            ours ? edits_of(r, "was", "were") : "", ours ? " restored from its journal; " : "",
            r->theirs_count, r->theirs_count == 1 ? "" : "s", others_wrote, directory);
    else if (written == 0 && (ours || r->text.damaged > 0))
        say_restored(r, directory);
    free(directory);
    return err->code;
}

static int show_files(struct recovery *r)
{
    const bool theirs = says_more(r, r->theirs) || r->misfit, ours = says_more(r, r->doc);

    if (ours) {
        tfs_doc_unref(r->save->doc);
        r->save->doc = tfs_doc_ref(r->doc);
    }
    if (r->text.damaged > 0)
        say(r, "warning: its journal is damaged at offset %ju, what follows is not shown",
            (uintmax_t)r->text.damaged);
    else if (ours)
        say(r, "%s only in its journal yet%s%s", edits_of(r, "is", "are"),
            theirs ? "; others are not shown, for " : "", theirs ? others_wrote : "");
    else if (theirs)
        say(r, "warning: its journal is not used: %s", others_wrote);
    return 0;
}

static int bring_files_up_to_date(struct recovery *r, struct tfs_error *err)
{
    struct tfs_error misfit = {0};

    r->misfit = apply_files(r, true, NULL, &r->theirs, &r->theirs_count, &misfit) < 0;
    if (misfit.code != -ENOMEM) {
        tfs_error_reset(&misfit);
        apply_files(r, false, NULL, &r->doc, &r->count, &misfit);
    }
    if (misfit.code == -ENOMEM)
        return tfs_fail_memory(err);
    if (misfit.code < 0) {
        tfs_doc_unref(r->doc);
        r->doc = NULL;
        return set_aside(r, misfit.text, err);
    }
    return may_write(r->save) ? restore_files(r, err) : show_files(r);
}

static int recover(struct recovery *r, struct tfs_error *err)
{
    int result = read_both(r, err);

    if (result <= 0)
        return result;
    return r->save->container->hash != NULL ? bring_up_to_date(r, err)
                                            : bring_files_up_to_date(r, err);
}

static void release(struct recovery *r)
{
    tfs_journal_text_release(&r->text);
    tfs_recover_files_release(&r->files);
    tfs_doc_unref(r->doc);
    tfs_doc_unref(r->theirs);
    free(r->beside);
}

/* ---- one file of a folder that has a journal ------------------------------------------------- */

/* What the journal says of the file that is read alone; NULL: nothing. */
static int find_alone(const struct recovery *folder, const struct tfs_recover_file **file,
                      struct tfs_error *err)
{
    const struct tfs_recover_files *files = &folder->files;

    *file = NULL;
    for (size_t i = 0; i < files->count && *file == NULL; i++) {
        char *path = folder->save->container->journal->path(folder->save, files->files[i].key);
        if (path == NULL)
            return tfs_fail_memory(err);
        if (strcmp(path, folder->alone->path) == 0)
            *file = &files->files[i];
        free(path);
    }
    return 0;
}

struct joining {
    const struct recovery *r;
    struct tfs_edit edit;
    struct tfs_error *err;
};

static int join_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct joining *j = arg;
    struct tfs_chunk chunk = *(after != NULL ? after : before);

    chunk.slot = TFS_SLOT_NONE;
    j->r->save->container->file->from_folder(tfs_edit_doc(&j->edit), &chunk);
    if (after != NULL)
        return tfs_edit_put(&j->edit, &chunk, j->err);
    return tfs_doc_find(tfs_edit_doc(&j->edit), chunk.key) == NULL
               ? 0
               : tfs_edit_remove(&j->edit, chunk.key, j->err);
}

/* Puts the edits of the folder that are of this file on what it holds. */
static int join_edits(struct recovery *r, const struct recovery *folder, struct tfs_error *err)
{
    struct joining j = {.r = r, .err = err};

    if (tfs_edit_open(r->save->doc, &j.edit, err) < 0)
        return err->code;
    if (tfs_doc_diff(folder->save->doc, folder->doc, join_chunk, &j) == 0)
        r->doc = tfs_edit_finish(&j.edit);
    tfs_edit_release(&j.edit);
    r->count = folder->count;
    r->last = folder->last;
    return err->code == 0 && check_doc(r, err) == 0 ? read_again(r, err) : err->code;
}

static bool has_changed(const struct recovery *r)
{
    struct tfs_error ignored = {0};

    return r->save->container->changed(r->save, &ignored) > 0;
}

static int fail_changing(struct tfs_error *err)
{
    return tfs_fail(err, -ESTALE, "another program is changing it");
}

/* The journal of the folder, as far as it is about this file. ESTALE: the file is another one than
 * the folder has by now. */
static int apply_folder(struct recovery *r, struct recovery *folder, struct tfs_error *err)
{
    const struct tfs_recover_file *file;

    int found = read_both(folder, err);
    if (found == 0)
        return fail_changing(err); /* the journal is gone, and the file may hold its edits */
    if (found < 0 || find_alone(folder, &file, err) < 0)
        return err->code;
    /* Of a file that it does not name, an earlier journal may have said more. */
    if (file != NULL ? !tfs_file_same(&file->st, &r->save->st) : has_changed(r))
        return fail_changing(err);
    if (file != NULL && !file->ours)
        return tfs_fail(err, -EBADMSG, "%s", others_wrote);
    if (file == NULL || apply_files(folder, false, file, &folder->doc, &folder->count, err) < 0 ||
        !says_more(folder, folder->doc) || join_edits(r, folder, err) < 0)
        return err->code;
    show_in_memory(r);
    if (folder->text.damaged > 0)
        say(r, "warning: the journal of its folder is damaged, what follows is not shown");
    else
        say(r, "%s only in the journal of its folder yet", edits_of(r, "is", "are"));
    return 0;
}

static int show_folder(struct recovery *r, struct tfs_error *err)
{
    char notice[TFS_ERROR_TEXT] = "";
    struct recovery folder = {.alone = r->save, .notice = notice};

    if (tfs_whole_file_open_folder(r->save, &folder.save, err) == 0) {
        folder.beside = tfs_journal_beside(folder.save);
        if (folder.beside == NULL)
            tfs_fail_memory(err);
        else if (folder.save->container->journal != NULL)
            apply_folder(r, &folder, err);
    }
    release(&folder);
    tfs_save_close(folder.save);
    return err->code;
}

/* Looks at the journal of the folder once. ESTALE: at another moment than the file was read. */
static void try_folder(struct recovery *r, struct tfs_error *waits, struct tfs_error *why)
{
    if (tfs_whole_file_waits(r->save, waits) == -EROFS)
        show_folder(r, why);
    else if (waits->code == 0 && has_changed(r))
        fail_changing(why);
}

/* Edits of the folder that this file of it does not hold yet are shown, or told. */
static int look_at_folder(struct recovery *r, struct tfs_error *err)
{
    const struct tfs_file_codec *codec = r->save->container->file;
    struct tfs_error waits = {0}, why = {0};

    if (codec == NULL || codec->folder == NULL || r->notice[0] != '\0')
        return 0;
    try_folder(r, &waits, &why);
    for (int i = 0; why.code == -ESTALE && i < TRIES; i++) {
        tfs_error_reset(&waits);
        tfs_error_reset(&why);
        if (r->save->container->reload(r->save, &why) == 0)
            try_folder(r, &waits, &why);
    }
    if (waits.code == -ENOMEM || why.code == -ENOMEM)
        return tfs_fail_memory(err);
    if (why.code < 0)
        say(r, "warning: %.200s; they are not shown here: %.200s", waits.text, why.text);
    return 0;
}

int tfs_recover(struct tfs_save *save, char notice[TFS_ERROR_TEXT], struct tfs_error *err)
{
    struct recovery r = {.save = save, .notice = notice};
    int result = 0;

    notice[0] = '\0';
    if (save->container->hash == NULL && save->container->journal == NULL)
        return 0;
    r.beside = tfs_journal_beside(save);
    result = r.beside == NULL ? tfs_fail_memory(err) : recover(&r, err);
    if (result == 0)
        result = look_at_folder(&r, err);
    tfs_save_step(save, NULL, 0, 0);
    release(&r);
    return result;
}
