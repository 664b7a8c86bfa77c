/*
 * The save changed on disk: it is read again. Edits that wait for a file (of a database: for a row)
 * that another program changed are foreign, and are set aside before they leave the journal; the
 * others stand on what was read. Run by the store's thread only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/print.h"
#include "fs/recovery/foreign.h"
#include "fs/store/state.h"

static void tell(struct tfs_store *store, const char *text)
{
    if (store->client.message != NULL)
        store->client.message(store->client.arg, text);
}

static void turned(struct tfs_store *store)
{
    if (store->client.turned != NULL)
        store->client.turned(store->client.arg);
}

/* Shows save->doc, which was just written and is what is on disk; or remembers to. */
static int show_saved(struct tfs_store *store, struct tfs_error *err)
{
    store->disk = TFS_DISK_READ;
    if (tfs_store_reserve(store, store->save->doc, err) < 0)
        return err->code;
    tfs_store_publish(store, tfs_doc_ref(store->save->doc), true);
    return 0;
}

static void note_reading(struct tfs_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->st = store->save->st;
    pthread_mutex_unlock(&store->lock);
}

/* Reads what is on disk now into save->doc. What cannot be read is told once. */
static int read_theirs(struct tfs_store *store, struct tfs_error *err)
{
    const bool was_lost = store->disk == TFS_DISK_LOST;
    /* Slots that edits gave out since must not be given to other chunks. */
    int result = tfs_doc_reserve_slots(&store->save->doc, store->key_count, err);

    if (result == 0)
        result = store->save->container->reload(store->save, err);
    if (result == 0)
        note_reading(store);
    if (result == -ENOMEM)
        return result;
    store->disk = result < 0 ? TFS_DISK_LOST : TFS_DISK_READ;
    if (result < 0 && !was_lost)
        tfs_store_log(store, err);
    if (was_lost != (result < 0))
        turned(store);
    return result < 0 ? -EIO : 0;
}

void tfs_store_mend(struct tfs_store *store)
{
    struct tfs_error ignored = {0};

    if (store->disk != TFS_DISK_LOST)
        return;
    pthread_mutex_lock(&store->io);
    if (store->save->container->changed(store->save, NULL, &ignored) == 0)
        store->disk = tfs_doc_same(store->save->doc, store->saved) ? TFS_DISK_SHOWN : TFS_DISK_READ;
    pthread_mutex_unlock(&store->io);
    if (store->disk == TFS_DISK_LOST)
        return;
    turned(store);
    tell(store, "can be read again");
}

int tfs_store_follow(struct tfs_store *store, const struct tfs_doc *committed,
                     struct tfs_error *err)
{
    struct tfs_doc *doc = NULL;

    if (store->save->doc->version == committed->version)
        return 0;
    if (store->shown == committed)
        return show_saved(store, err);
    store->disk = TFS_DISK_READ;
    if (tfs_store_rebase(store, store->save->doc, committed, store->shown, &doc, err) < 0 ||
        tfs_store_reserve(store, doc, err) < 0) {
        tfs_doc_unref(doc);
        return err->code;
    }
    tfs_store_publish(store, doc, true);
    return 0;
}

/* ---- edits of what others changed ------------------------------------------------------------ */

static void foreign_release(struct tfs_store *store)
{
    free(store->changed_files);
    store->changed_files = NULL;
    store->changed_count = 0;
}

static bool is_listed(const struct tfs_store *store, struct tfs_key file)
{
    for (size_t i = 0; i < store->changed_count; i++)
        if (tfs_key_compare(store->changed_files[i], file) == 0)
            return true;
    return false;
}

struct listing {
    struct tfs_store *store;
    struct tfs_key last; /* the file that was looked at */
    bool looked;
    struct tfs_error *err;
};

/* Notes the file of a chunk that we change, if others changed it. */
static int list_changed(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct listing *l = arg;
    struct tfs_store *store = l->store;
    const struct tfs_key chunk = after != NULL ? after->key : before->key;
    const struct tfs_key file = tfs_journal_file_of(store->save, chunk);
    struct tfs_error ignored = {0};

    if (l->looked && tfs_key_compare(file, l->last) == 0)
        return 0;
    l->last = file;
    l->looked = true;
    if (is_listed(store, file) ||
        store->save->container->changed(store->save, &chunk, &ignored) == 0)
        return 0;
    struct tfs_key *grown =
        tfs_array_grow(store->changed_files, store->changed_count, sizeof(*grown));
    if (grown == NULL)
        return tfs_fail_memory(l->err);
    store->changed_files = grown;
    grown[store->changed_count++] = file;
    return 0;
}

/* While what was read before cannot be shown, they stay listed. */
static int find_changed(struct tfs_store *store, struct tfs_error *err)
{
    struct listing l = {.store = store, .err = err};

    if (tfs_container_is_database(store->save->container))
        return 0;
    tfs_doc_diff(store->saved, store->shown, list_changed, &l);
    return err->code;
}

/* One taking of what another program wrote. */
struct taking {
    struct tfs_store *store;
    struct tfs_edit ours;        /* onto what was read */
    struct tfs_edit theirs;      /* onto what was saved: what is foreign */
    struct tfs_recovery journal; /* ours as it is now, and the files that it knows */
    struct tfs_error *err;
};

/* What it knows of files, where there is one that can be read. */
static void look_in_journal(struct tfs_store *store, struct tfs_recovery *journal)
{
    struct tfs_error ignored = {0};

    *journal = (struct tfs_recovery){.save = store->save, .beside = store->journal_beside};
    if (store->journal != NULL &&
        tfs_journal_read(store->journal_beside, &store->st, &journal->text, &ignored) > 0)
        (void)tfs_recover_files_read(store->save, store->journal_beside, &journal->text,
                                     &journal->files, &ignored);
}

/* What is in a file now that had all edits up to that: of a journal that others removed or damaged,
 * or that cannot be read, that is nothing. */
static struct tfs_doc *held_by(const struct tfs_store *store, const struct tfs_recovery *journal)
{
    const bool whole =
        store->journal != NULL && journal->text.end == tfs_journal_size(store->journal);

    return whole ? store->journaled : store->saved;
}

static bool is_foreign_file(const struct taking *t, struct tfs_key key)
{
    const struct tfs_recover_file *file = tfs_recover_files_find(&t->journal.files, key);

    return is_listed(t->store, key) && !(file != NULL && file->ours);
}

/* Did another program change what this edit of ours changes? */
static bool is_foreign(const struct taking *t, const struct tfs_chunk *before,
                       const struct tfs_chunk *after)
{
    const struct tfs_save *save = t->store->save;
    const struct tfs_key key = after != NULL ? after->key : before->key;
    const struct tfs_chunk *now = tfs_doc_find(save->doc, key);

    if (!tfs_store_fits(t->store, save->doc, after != NULL ? after : before))
        return true;
    return tfs_container_is_database(save->container)
               ? !tfs_chunk_same(before, now) && !tfs_chunk_same(after, now)
               : is_foreign_file(t, tfs_journal_file_of(save, key));
}

static int sort_chunk(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct taking *t = arg;

    return tfs_store_rebase_chunk(is_foreign(t, before, after) ? &t->theirs : &t->ours, before,
                                  after, t->err);
}

static void sort_common(struct taking *t, const struct tfs_doc *old, const struct tfs_doc *ours)
{
    const struct tfs_save *save = t->store->save;
    const bool foreign = save->container->file != NULL
                             ? is_foreign_file(t, (struct tfs_key){0})
                             : !tfs_blob_equal(old->common, save->doc->common);

    if (old->common == ours->common)
        return;
    tfs_edit_common(foreign || !tfs_store_fits(t->store, save->doc, NULL) ? &t->theirs : &t->ours,
                    ours->common);
}

/* The sentence stays until the end, behind those of before: `umount` says them. */
static void say(struct tfs_store *store, const struct tfs_error *sentence)
{
    char *before = store->left;

    if (tfs_print(&store->left, "%s%s%s", before != NULL ? before : "", before != NULL ? "; " : "",
                  sentence->text) < 0)
        store->left = before;
    else
        free(before);
    tfs_store_log(store, sentence);
}

static void say_kept(struct tfs_store *store, bool outside, const char *directory)
{
    struct tfs_error said = {0};

    tfs_fail(&said, -ESTALE, "%s%s: terrainfs import takes what still fits",
             outside ? "the save was changed by another program; edits that waited for it are in "
                     : "edits that could not be saved are in ",
             directory);
    say(store, &said);
}

static int fail_aside(int code, struct tfs_error *err)
{
    return tfs_fail(err, code,
                    "another program changed the save, and edits that wait for it cannot be set "
                    "aside: %s",
                    strerror(-code));
}

static int add_theirs(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    struct taking *t = arg;

    return tfs_store_rebase_chunk(&t->theirs, before, after, t->err);
}

/* The record of what differs between `before` and `after`, on what is `held` already; nothing where
 * that is all. */
static int make_record(struct tfs_store *store, struct tfs_doc *held, const struct tfs_doc *before,
                       const struct tfs_doc *after, struct tfs_buf *record, struct tfs_error *err)
{
    struct taking t = {.store = store, .err = err};
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (tfs_edit_open(held, &t.theirs, err) < 0)
        return err->code;
    if (tfs_doc_diff(before, after, add_theirs, &t) == 0) {
        if (before->common != after->common)
            tfs_edit_common(&t.theirs, after->common);
        struct tfs_doc *more = tfs_edit_finish(&t.theirs);
        if (more->version != held->version)
            tfs_record_make_foreign(store->save, held, more, store->disk == TFS_DISK_READ, now,
                                    record, err);
        tfs_doc_unref(more);
    }
    tfs_edit_release(&t.theirs);
    return err->code;
}

static int store_aside(struct tfs_store *store, const struct tfs_recovery *journal,
                       struct tfs_span record, struct tfs_error *err)
{
    char *directory = NULL;
    const int stored = tfs_foreign_keep(journal, store->saved, record, &directory);

    if (stored < 0)
        fail_aside(stored, err);
    else
        say_kept(store, store->disk == TFS_DISK_READ, directory);
    free(directory);
    return err->code;
}

/* What is foreign goes to a directory of its own: from the journal, and what that does not hold. */
static int set_aside(struct tfs_store *store, struct tfs_recovery *journal, struct tfs_doc *theirs,
                     struct tfs_error *err)
{
    struct tfs_buf record = {0};

    journal->theirs = tfs_doc_ref(theirs);
    if (make_record(store, held_by(store, journal), store->saved, theirs, &record, err) == 0)
        store_aside(store, journal, tfs_buf_span(&record), err);
    tfs_buf_release(&record);
    return err->code;
}

/* Sorts what waits, sets aside what is foreign, and shows the rest on what was read. */
static int sort_edits(struct tfs_store *store, struct taking *t, struct tfs_doc **aside,
                      struct tfs_error *err)
{
    struct tfs_doc *old = store->saved, *theirs = NULL, *doc = NULL;

    look_in_journal(store, &t->journal);
    int result = tfs_doc_diff(old, store->shown, sort_chunk, t);
    if (result == 0) {
        sort_common(t, old, store->shown);
        theirs = tfs_edit_finish(&t->theirs);
        doc = tfs_edit_finish(&t->ours);
        result = tfs_store_differs(store) ? tfs_doc_keep_slots(doc, store->shown, err) : 0;
    }
    if (result == 0)
        result = tfs_store_reserve(store, doc, err);
    if (result == 0 && theirs->version != old->version)
        result = set_aside(store, &t->journal, theirs, err);
    if (result == 0) {
        if (aside != NULL && theirs->version != old->version)
            *aside = tfs_doc_ref(theirs);
        tfs_store_publish(store, tfs_doc_ref(doc), true);
        foreign_release(store);
        tell(store, "changed by another program, read again");
    }
    tfs_doc_unref(theirs);
    tfs_doc_unref(doc);
    return result;
}

/* Until it succeeds nothing is shown, edited or written: our edits must never be written over a
 * save that they were not made for. */
static int take_theirs(struct tfs_store *store, struct tfs_doc **aside, struct tfs_error *err)
{
    struct taking t = {.store = store, .err = err};

    if (tfs_edit_open(store->save->doc, &t.ours, err) < 0)
        return err->code;
    tfs_edit_keep_slots(&t.ours, store->key_count);
    int result = tfs_edit_open(store->saved, &t.theirs, err);
    if (result == 0) {
        result = sort_edits(store, &t, aside, err);
        tfs_edit_release(&t.theirs);
    }
    tfs_edit_release(&t.ours);
    tfs_recovery_release(&t.journal);
    return result;
}

bool tfs_store_may_conflict(struct tfs_store *store)
{
    struct tfs_error ignored = {0};

    if (store->disk != TFS_DISK_SHOWN)
        return true;
    if (tfs_container_is_database(store->save->container))
        return false;
    if (store->save->container->files == NULL || !tfs_store_differs(store))
        return true;
    pthread_mutex_lock(&store->io);
    (void)find_changed(store, &ignored);
    pthread_mutex_unlock(&store->io);
    return store->changed_count > 0;
}

static int look(struct tfs_store *store, struct tfs_doc **aside, struct tfs_error *err)
{
    struct tfs_error ignored = {0};
    const bool changed = store->save->container->changed(store->save, NULL, &ignored) != 0;

    if (!changed && store->disk != TFS_DISK_READ) {
        foreign_release(store); /* files that looked otherwise for a moment */
        return 0;
    }
    int result = changed ? find_changed(store, err) : 0;
    if (result == 0 && changed)
        result = read_theirs(store, err);
    return result < 0 ? result : take_theirs(store, aside, err);
}

int tfs_store_look(struct tfs_store *store, struct tfs_doc **aside, struct tfs_error *err)
{
    pthread_mutex_lock(&store->io);
    const int result = look(store, aside, err);
    pthread_mutex_unlock(&store->io);
    return result;
}

/* ---- whose edits they were ------------------------------------------------------------------- */

struct search {
    const struct tfs_doc *before, *aside;
};

static int is_aside(void *arg, const struct tfs_chunk *before, const struct tfs_chunk *after)
{
    const struct search *s = arg;
    const struct tfs_key key = after != NULL ? after->key : before->key;

    return !tfs_chunk_same(tfs_doc_find(s->before, key), tfs_doc_find(s->aside, key));
}

bool tfs_store_waits_for(const struct tfs_job *job, const struct tfs_doc *before,
                         const struct tfs_doc *aside)
{
    struct search s = {before, aside};

    return !job->edited || tfs_doc_diff(job->before, job->after, is_aside, &s) != 0 ||
           (job->before->common != job->after->common && before->common != aside->common);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What the journal holds stays there. */
void tfs_store_keep_unsaved(struct tfs_store *store)
{
    const struct tfs_recovery none = {.save = store->save};
    struct tfs_recovery journal;
    struct tfs_buf record = {0};
    struct tfs_error err = {0};

    look_in_journal(store, &journal);
    struct tfs_doc *held = held_by(store, &journal);
    tfs_recovery_release(&journal);
    if (make_record(store, held, held, store->shown, &record, &err) == 0 && record.size > 0)
        store_aside(store, &none, tfs_buf_span(&record), &err);
    else if (err.code == 0)
        tfs_fail(&err, -EIO,
                 "edits that could not be saved are in the journal beside the save: the next mount "
                 "brings them in");
    tfs_buf_release(&record);
    if (err.code < 0)
        say(store, &err);
    foreign_release(store);
}
